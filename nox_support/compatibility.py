"""Tests against what others make, each part in environments of its own: the session `compatibility`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nox_support.installing import (
    group,
    groups,
    install,
    install_beside_pins,
    provide_chromium,
    with_core,
)
from nox_support.packages import CORE, package, packages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import nox

__all__ = ["compare_with_reference_loops", "compatibility_parts", "python_with"]

REFERENCES = {
    "anthropic": ("compare", "3.11", ["anthropic>=2.14"]),
    "google": ("compare", "3.11", ["google-adk>=2.13"]),
    "openai": ("compare", "3.11", ["openai-agents>=0.24"]),
    "ui_tars": ("compare_texts", "3.11", ["ui-tars==0.5.1"]),
    "qwen": (
        "compare_texts",
        "3.11",
        ["qwen-agent==0.0.34", "numpy", "soundfile", "tqdm", "python-dateutil"],
    ),
}
"""Of each provider or model the program that compares it, the Python and the packages of its own loop or parser."""
FOREIGN = {
    "PROCTOR_OPENENV": ("3.11", ["openenv==0.10.0"]),
    "PROCTOR_ATIF": ("3.11", ["atif==1.8.0"]),
    "PROCTOR_EVERY_EVAL_EVER": ("3.12", ["every-eval-ever==0.3.0"]),
    "PROCTOR_HUGGINGFACE_HUB": ("3.12", ["huggingface-hub==2.4.0", "pyyaml"]),
    "PROCTOR_INSPECT": ("3.11", ["inspect-ai==0.3.285", "websockets>=15"]),
    "PROCTOR_NEMO_GYM": ("3.12", ["nemo-gym==0.4.0"]),
    "PROCTOR_VERIFIERS": (
        "3.12",
        [
            "--override",
            "integration_tests/verifiers-overrides.txt",
            "verifiers==0.4.0",
            "openenv==0.10.0",
        ],
    ),
}
"""What `interop` tests against: the Python, and distributions that cannot share an environment with ours."""
SDK_LINES = {
    "oldest": ["anthropic==0.77.0", "openai==2.7.2", "google-genai==1.50.0"],
    "browser-use": ["browser-use==0.11.13", "pydantic-settings"],
    "newest": ["anthropic>=2", "openai>=3", "google-genai>=3"],
}
"""The lines of the providers' SDKs on which the same records must come out."""
BROWSER_USES = ["0.11.13", "0.13.14"]
"""The lines of browser-use on which every task of WebArena's built-in world must score 1.0; the first
is the newest that webarena-verified's pins admit."""


def compatibility_parts(
    parallel: Sequence[str],
) -> list[tuple[str, str, Callable[[nox.Session], None]]]:
    """Return of each part its tag, its name and what it does.

    Args:
        parallel: The options with which pytest runs tests side by side.
    """
    sdks = [("sdks", f"sdks-{each}", partial(_sdks, each, parallel)) for each in SDK_LINES]
    browser_uses = [
        ("browser-use", f"browser-use-{each}", partial(_browser_use, each)) for each in BROWSER_USES
    ]
    computer_uses = [
        ("computer-use", f"computer-use-{each}", partial(_computer_use, each, parallel))
        for each in ("oldest", "newest")
    ]
    once = {
        "providers": _providers,
        "ray": _ray,
        "interop": _interop,
        "foreign-agents": _foreign_agents,
        "ways-to-a-model": _ways_to_a_model,
    }
    return [
        *sdks,
        *browser_uses,
        *computer_uses,
        *((name, name, run) for name, run in once.items()),
    ]


def python_with(session: nox.Session, name: str, python: str, needed: list[str]) -> str:
    """Make an environment of its own with uv and return its interpreter."""
    session.install("uv")
    # what uses it may run in another folder, where a relative path leads nowhere
    folder = Path(session.create_tmp()).resolve() / name
    uv = ["python", "-m", "uv"]
    session.run(*uv, "venv", "--clear", "--python", python, str(folder))
    session.run(*uv, "pip", "install", "--python", str(folder), *needed)
    return str(folder / "bin" / "python")


def _sdks(line: str, parallel: Sequence[str], session: nox.Session) -> None:
    """Test the model adapters on the oldest SDKs, on those browser-use forces, or on the newest."""
    core = package(CORE)
    install(session, [core], [*group("parallel"), *group("test", core.folder), *SDK_LINES[line]])
    folders = [str(core.folder / "tests" / each) for each in ("models", "agents")]
    session.run("pytest", *parallel, *folders, "-m", "not browser", *session.posargs)


def _ways_to_a_model(session: nox.Session) -> None:
    """Count the model calls of agents that make them by LangChain and LiteLLM, whose pins are others than ours."""
    core = package(CORE)
    sdks = [
        "bench-core[anthropic,google,openai,proxy]",
        "langchain-openai==1.7.4",
        "litellm==1.110.2",
    ]
    install(session, [core], [*group("test", core.folder), *sdks])
    ways = core.folder / "tests" / "execute" / "test_ways_to_a_model.py"
    session.run("pytest", "-rs", str(ways), *session.posargs)


def _browser_use(version: str, session: nox.Session) -> None:
    """Complete every task of WebArena's built-in world, faults included, on a browser-use."""
    runner = package("webarena-runner")
    needed = [f"browser-use=={version}", *group("test", runner.folder)]
    if version == BROWSER_USES[0]:
        install(session, with_core(runner), needed)
    else:
        install_beside_pins(session, runner, needed)
    provide_chromium(session)
    own = package(CORE).folder / "tests"
    tests = [
        own / "browser_use" / "test_attempt.py",
        own / "agents" / "test_dialogs_of_agents.py",
        *(runner.folder / "tests" / each for each in ("agents", "test_fault_campaign.py")),
    ]
    every = {"WEBARENA_TASKS": "all", "DIALOGS": "all"}
    session.run("pytest", *map(str, tests), *session.posargs, env=every)


def _computer_use(line: str, parallel: Sequence[str], session: nox.Session) -> None:
    """Have each provider's model do ten tasks on each world, on the oldest or the newest SDKs."""
    install(session, packages(), [*group("parallel"), *group("integration"), *groups("test")])
    # browser-use and webarena-verified pin other versions, which no episode needs
    session.install("--no-deps", *SDK_LINES[line])
    provide_chromium(session)
    tests = [f"integration_tests/test_{each}.py" for each in ("computer_use", "readers")]
    tests.append(str(package(CORE).folder / "tests" / "agents" / "test_dialogs_of_agents.py"))
    session.run(
        "pytest",
        *parallel,
        *tests,
        *session.posargs,
        env={"COMPUTER_EPISODES": "all", "DIALOGS": "all"},
    )


def compare_with_reference_loops(session: nox.Session) -> None:
    """Compare our agents' requests with those of the providers' own loops; `--write` renews the table of reasons."""
    install(session, [package(CORE)], ["bench-core[agents,anthropic,google,openai,testing]"])
    for provider, (program, python, needed) in REFERENCES.items():
        interpreter = python_with(session, provider, python, needed)
        session.run(
            "python",
            f"integration_tests/reference_loops/{program}.py",
            provider,
            *session.posargs,
            env={f"PROCTOR_REFERENCE_{provider.upper()}": interpreter},
        )
    session.run("python", "integration_tests/reference_loops/reasons_table.py", *session.posargs)


def _providers(session: nox.Session) -> None:
    """Test on machines: QEMU with a kernel of apt's and Podman, as root on Linux."""
    core, webarena = package(CORE), package("webarena-runner")
    install(session, [core, webarena], groups("test"))
    provide_chromium(session)
    folder = core.folder / "tests" / "machines"
    tests = [folder / f"test_{each}_provider.py" for each in ("qemu", "attached", "docker")]
    tests.append(webarena.folder / "tests" / "test_real_site_copies.py")
    # one at a time: the conftest of each package is its own
    for each in tests:
        real = {"REAL_MACHINES": "1"}
        session.run("pytest", "-s", "-rs", str(each), *session.posargs, env=real)


def _ray(session: nox.Session) -> None:
    """Test on two nodes of a Ray cluster on this machine."""
    install(session, packages(), [*group("integration"), *groups("test"), "ray>=2.60,<3"])
    provide_chromium(session)
    # every daemon would compile Ray anew, for which it has not the time
    compiled = ["compileall", "-q", str(Path(session.virtualenv.location))]
    session.run("python", "-m", *compiled, success_codes=[0, 1])
    workers = package(CORE).folder / "tests" / "workers" / "test_ray.py"
    session.run("pytest", str(workers), "integration_tests/test_many_machines.py", *session.posargs)


def _interop(session: nox.Session) -> None:
    """Test sessions and exports against the programs of others."""
    install(session, packages(), [*group("integration"), "websockets>=15"])
    provide_chromium(session)
    found = {
        variable: python_with(session, variable.lower(), python, needed)
        for variable, (python, needed) in FOREIGN.items()
    }
    tests = [
        f"integration_tests/test_{each}.py"
        for each in ("interop", "interop_sessions", "one_number")
    ]
    session.run("pytest", *tests, *session.posargs, env=found)


def _foreign_agents(session: nox.Session) -> None:
    """Run browser-use in an environment that uv makes for it, beside the one that webarena-verified pins."""
    install(session, packages(), [*group("integration"), *groups("test"), "uv"])
    provide_chromium(session)
    test = "integration_tests/test_foreign_agents.py"
    session.run("pytest", test, *session.posargs, env={"FOREIGN_AGENTS": "1"})
