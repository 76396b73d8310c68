"""Everything a developer does here: `nox --list` shows it, CONTRIBUTING.md explains it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from nox_support import interpreters, metadata, wheels  # noqa: E402  # needs the path above
from nox_support.installing import (  # noqa: E402  # same
    DIST,
    group,
    groups,
    install,
    install_beside_pins,
    own_extras,
    provide_chromium,
    with_core,
    with_extras,
)
from nox_support.packages import CORE, package, packages  # noqa: E402  # same

nox.needs_version = ">=2025.11.12"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # ask for it with the flag of that name
nox.options.sessions = ["lint", "typecheck", "architecture", "tests", "pythons"]

os.environ["PATH"] = interpreters.search_path(os.environ, Path.home())
os.environ["UV_PYTHON_DOWNLOADS"] = "never"
# tests start hundreds of Pythons, each of which would compile all that it imports anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

OWN_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The one Python that runs browser tests and slow ones: nox's own, which is always there."""
QUICK = "not browser and not slow"
EVERY = "NOX_EVERY_PYTHON"
EVERY_PYTHON = os.environ.get(EVERY, "0") not in {"", "0"}
"""Whether `pythons` has those between the oldest and the newest, too; a pull request's CI does."""
CORES = os.cpu_count() or 1
AT_ONCE = min(4, 2 * CORES)
"""More tests than cores, as most of a suite's time is spent waiting for processes and servers; four browsers are
enough for any machine."""
PARALLEL = ["-n", str(AT_ONCE), "--dist", "worksteal", "--timeout", "900"]
"""A test that never ends fails after a time that none needs, instead of holding up all others for ever."""

MATRIX = {
    own: [
        nox.param(python, each.name, id=f"{each.name}, {python}", tags=[each.name])
        for each in packages()
        for python in each.pythons
        if (python == OWN_PYTHON) is own
    ]
    for own in (True, False)
}
"""Each package on the Python that runs nox, and on each of the others."""
FLOORS = [nox.param(each.pythons[0], each.name, id=each.name) for each in packages()]
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
    "PROCTOR_HUGGINGFACE_HUB": ("3.12", ["huggingface-hub==2.4.0"]),
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
INTEROP = ["integration_tests/test_interop.py", "integration_tests/test_interop_sessions.py"]
SDK_LINES = {
    "oldest": ["anthropic==0.77.0", "openai==2.7.2", "google-genai==1.50.0"],
    "browser-use": ["browser-use==0.11.13", "pydantic-settings"],
    "newest": ["anthropic>=2", "openai>=3", "google-genai>=3"],
}
"""The lines of the providers' SDKs on which the same records must come out."""
BROWSER_USES = ["0.11.13", "0.13.14"]
"""The lines of browser-use on which every task of WebArena's built-in world must score 1.0; the first
is the newest that webarena-verified's pins admit."""
REFUSED_BY_PINS = "inspect-ai"
"""What cannot be installed beside webarena-verified's exact pins; the tests that need it skip without."""
TOGETHER = "together"
"""The benchmarks that need all packages."""
MEASURED = [each.name for each in packages() if each.has("benchmarks", "bench_*.py")]

DEMOS = [
    # what it needs, its demo command, the run folders that leaves
    (["webarena-runner"], ["webarena-runner", "demo", "--out"], ["scripted", "do-nothing"]),
    (
        ["multireal-harness"],
        ["multireal-harness", "demo", "--out"],
        ["scripted", "scripted-wrong", "do-nothing"],
    ),
    (
        ["waa-client", "waa-server-ext[accessibility,simulate]"],
        ["waa-client", "demo", "--out"],
        ["scripted", "do-nothing"],
    ),
]
"""The demo of each benchmark; the first package needed is the one shown, extras are in brackets."""


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, spelling and workflows, and that names and texts use the field's words."""
    session.install(*group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "nox_support.words")
    session.run("codespell")
    session.run("zizmor", "--offline", "--quiet", ".github")


@nox.session(requires=["build"])
def typecheck(session: nox.Session) -> None:
    """Check each package with mypy, strict, on its oldest Python; and the licences of what it brings."""
    install(session, packages(), [*map(with_extras, packages()), *group("typecheck")])
    # with a cache of its own each would check the libraries anew
    shared = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ]
    for each in packages():
        with session.chdir(each.folder):
            session.run("mypy", *shared, "--python-version", each.pythons[0], "src")
    session.run("mypy", "noxfile.py", "nox_support", "test_support")
    session.run("python", "-m", "nox_support.licences")  # here, where every extra is installed


@nox.session
def architecture(session: nox.Session) -> None:
    """Check who imports and requires whom, and what is public; `-- --write` renews the snapshots."""
    session.install(*group("architecture"))
    sources = os.pathsep.join(str(each.folder / "src") for each in packages())
    session.run("lint-imports", env={"PYTHONPATH": sources})
    session.run("python", "-m", "nox_support.public_api", *session.posargs)
    if broken := list(metadata.violations(ROOT)):
        session.error("; ".join(broken))


@nox.session
def quick(session: nox.Session) -> None:
    """Check style, words, imports and the quick tests about what has changed: under three minutes."""
    sources = [option for each in packages() for option in ("-e", str(each.folder))]
    named = ("lint", "architecture", "parallel")
    needed = [each for name in named for each in group(name)]
    session.install(*sources, *needed, *groups("test"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "nox_support.words")
    session.run("lint-imports")
    session.run("python", "-m", "nox_support.public_api")
    session.run("python", "-m", "nox_support.quick_tests", *session.posargs)


@nox.session(requires=["build"])
@nox.parametrize("python, name", MATRIX[True])
def tests(session: nox.Session, name: str) -> None:
    """Test a package where only its wheel and bench-core's are installed, on the Python that runs nox."""
    tested = package(name)
    needed = [*group("parallel"), *group("test", tested.folder), *group("test-once", tested.folder)]
    install(session, with_core(tested), needed)
    if tested.has_browser_tests:
        # how Chromium is started, watched and guarded is bench-core's
        provide_chromium(session, headless_shell=tested.name != CORE)
    session.run("pytest", *PARALLEL, str(tested.folder / "tests"), *session.posargs)


@nox.session(requires=["build"])
@nox.parametrize("python, name", MATRIX[False])
def pythons(session: nox.Session, name: str) -> None:
    """Run a package's quick tests on its oldest and its newest Python."""
    tested = package(name)
    if session.python in tested.pythons[1:-1] and not EVERY_PYTHON:
        session.skip(f"older and newer ones are tested; {EVERY} set to 1 runs this one, too")
    install(session, with_core(tested), [*group("parallel"), *group("test", tested.folder)])
    session.run("pytest", *PARALLEL, str(tested.folder / "tests"), "-m", QUICK, *session.posargs)


@nox.session(requires=["build"])
@nox.parametrize("python, name", FLOORS)
def minimums(session: nox.Session, name: str) -> None:
    """Test a package with the oldest versions of what it requires, on its oldest Python."""
    tested = package(name)
    session.install("uv")
    pip = ["python", "-m", "uv", "pip", "install", "--python", str(session.virtualenv.location)]
    extras = [f"--extra={each}" for each in own_extras(tested)]
    core = [] if name == CORE else [str(wheels.wheel(package(CORE), DIST))]
    pyproject = str(tested.folder / "pyproject.toml")
    session.run(*pip, "--resolution", "lowest-direct", *extras, "-r", pyproject, *core)
    session.run(*pip, "--no-deps", str(wheels.wheel(tested, DIST)))
    needed = [*group("parallel"), *group("test", tested.folder)]
    session.run(*pip, *core, str(wheels.wheel(tested, DIST)), *needed)
    session.run("pytest", *PARALLEL, str(tested.folder / "tests"), "-m", QUICK, *session.posargs)


@nox.session(requires=["build"])
@nox.parametrize("line", list(SDK_LINES), ids=list(SDK_LINES))
def sdks(session: nox.Session, line: str) -> None:
    """Test the model adapters on the oldest SDKs, on those browser-use forces, on the newest."""
    core = package(CORE)
    install(session, [core], [*group("parallel"), *group("test", core.folder), *SDK_LINES[line]])
    folders = [str(core.folder / "tests" / each) for each in ("models", "agents")]
    session.run("pytest", *PARALLEL, *folders, "-m", "not browser", *session.posargs)


@nox.session(requires=["build"])
def interop(session: nox.Session) -> None:
    """Test sessions and exports against the programs of others, each in an environment of its own."""
    install(session, packages(), [*group("integration"), "websockets>=15"])
    session.install("uv")
    provide_chromium(session)
    found = {}
    for variable, (python, needed) in FOREIGN.items():
        found[variable] = _interpreter(session, variable.lower(), python, needed)
    session.run("pytest", *INTEROP, *session.posargs, env=found)


def _interpreter(session: nox.Session, name: str, python: str, needed: list[str]) -> str:
    """Make an environment of its own with uv and return its interpreter."""
    # what uses it may run in another folder, where a relative path leads nowhere
    folder = Path(session.create_tmp()).resolve() / name
    uv = ["python", "-m", "uv"]
    session.run(*uv, "venv", "--clear", "--python", python, str(folder))
    session.run(*uv, "pip", "install", "--python", str(folder), *needed)
    return str(folder / "bin" / "python")


@nox.session(requires=["build"])
@nox.parametrize("version", BROWSER_USES, ids=BROWSER_USES)
def browser_use(session: nox.Session, version: str) -> None:
    """Complete every task of WebArena's built-in world, faults included, on each browser-use."""
    runner = package("webarena-runner")
    needed = [f"browser-use=={version}", *group("test", runner.folder)]
    if version == BROWSER_USES[0]:
        install(session, with_core(runner), needed)
    else:
        install_beside_pins(session, runner, needed)
    provide_chromium(session)
    attempts = package(CORE).folder / "tests" / "browser_use" / "test_attempt.py"
    tests = [runner.folder / "tests" / each for each in ("agents", "test_fault_campaign.py")]
    session.run(
        "pytest", *map(str, [attempts, *tests]), *session.posargs, env={"WEBARENA_TASKS": "all"}
    )


@nox.session(requires=["build"])
@nox.parametrize("line", ["oldest", "newest"], ids=["oldest", "newest"])
def computer_use(session: nox.Session, line: str) -> None:
    """Have each provider's model do ten tasks on each world, on the oldest SDKs and on the newest."""
    install(session, packages(), [*group("parallel"), *group("integration"), *groups("test")])
    # browser-use and webarena-verified pin other versions, which no episode needs
    session.install("--no-deps", *SDK_LINES[line])
    provide_chromium(session)
    tests = "integration_tests/test_computer_use.py"
    session.run("pytest", *PARALLEL, tests, *session.posargs, env={"COMPUTER_EPISODES": "all"})


@nox.session(requires=["build"])
def reference_loops(session: nox.Session) -> None:
    """Compare our agents' requests with those of the providers' own loops; `-- --write` renews the table of reasons."""
    install(session, [package(CORE)], ["bench-core[agents,anthropic,google,openai,testing]"])
    session.install("uv")
    for provider, (program, python, needed) in REFERENCES.items():
        interpreter = _interpreter(session, provider, python, needed)
        named = {f"PROCTOR_REFERENCE_{provider.upper()}": interpreter}
        session.run(
            "python",
            f"integration_tests/reference_loops/{program}.py",
            provider,
            *session.posargs,
            env=named,
        )
    session.run("python", "integration_tests/reference_loops/reasons_table.py", *session.posargs)


@nox.session(requires=["build"])
def integration(session: nox.Session) -> None:
    """Test all seven wheels together, and each alone in an environment of its own."""
    needed = [*group("parallel"), *group("integration"), *groups("test"), *groups("objects")]
    install(session, packages(), needed)
    provide_chromium(session, headless_shell=True)
    session.run("pytest", *PARALLEL, "integration_tests", *session.posargs)


@nox.session(requires=["build"])
def audits(session: nox.Session) -> None:
    """Try all packages' exploits and write docs/integrity.md's table: many minutes, on a quiet machine."""
    needed = [*group("parallel"), *groups("test"), "waa-server-ext[accessibility,simulate]"]
    install(session, packages(), needed)
    provide_chromium(session)
    unguarded = package("multireal-harness").folder / "tests" / "test_exploits.py"
    session.run("pytest", *PARALLEL, str(unguarded), env={"EXPLOITS": "all"})
    session.run("python", "-m", "nox_support.audit_table", "--write", *session.posargs)


@nox.session(requires=["build"])
def foreign_agents(session: nox.Session) -> None:
    """Run browser-use in an environment that uv makes for it, beside the one that webarena-verified pins."""
    install(session, packages(), [*group("integration"), *groups("test"), "uv"])
    provide_chromium(session)
    test = ROOT / "integration_tests" / "test_foreign_agents.py"
    session.run("pytest", str(test), *session.posargs, env={"FOREIGN_AGENTS": "1"})


@nox.session(requires=["build"])
def machines(session: nox.Session) -> None:
    """Test providers on real machines: QEMU with a kernel of apt's, and Podman as root; needs Linux."""
    core, webarena = package(CORE), package("webarena-runner")
    install(session, [core, webarena], groups("test"))
    provide_chromium(session)
    folder = core.folder / "tests" / "machines"
    tests = [folder / f"test_{each}_provider.py" for each in ("qemu", "attached", "docker")]
    tests.append(webarena.folder / "tests" / "test_real_site_copies.py")
    # one at a time: the conftest of each package is its own
    for each in tests:
        session.run("pytest", "-s", "-rs", str(each), *session.posargs, env={"REAL_MACHINES": "1"})


@nox.session(requires=["build"])
def ray(session: nox.Session) -> None:
    """Test runs on two nodes of a Ray cluster on this machine, those of all runners too."""
    install(session, packages(), [*group("integration"), *groups("test"), "ray>=2.60,<3"])
    provide_chromium(session)
    # every daemon would compile Ray anew, for which it has not the time
    session.run(
        "python",
        "-m",
        "compileall",
        "-q",
        str(Path(session.virtualenv.location)),
        success_codes=[0, 1],
    )
    workers = package(CORE).folder / "tests" / "workers" / "test_ray.py"
    session.run("pytest", str(workers), "integration_tests/test_many_machines.py", *session.posargs)


@nox.session(requires=["build"])
def coverage(session: nox.Session) -> None:
    """Measure which lines the tests of all packages reach."""
    beside = [each for each in groups("test-once") if not each.startswith(REFUSED_BY_PINS)]
    install(session, packages(), [*group("coverage"), *groups("test"), *beside])
    provide_chromium(session)
    session.run("coverage", "erase")
    for each in packages():
        session.run(
            "coverage", "run", "-m", "pytest", "-q", str(each.folder / "tests"), *session.posargs
        )
    session.run("coverage", "combine", "-q")
    session.run("coverage", "report")


@nox.session(requires=["build"])
def sbom(session: nox.Session) -> None:
    """Write beside each wheel what an installation of it brings, as CycloneDX: `-- PACKAGE` for one."""
    session.install(*group("sbom"), "uv")
    for each in [package(name) for name in session.posargs] or packages():
        place = Path(session.create_tmp()) / each.module
        python = str(place / "bin" / "python")
        files = [str(wheels.wheel(one, DIST)) for one in with_core(each)]
        session.run("python", "-m", "uv", "venv", "-q", "--clear", str(place))
        session.run("python", "-m", "uv", "pip", "install", "-q", "--python", python, *files)
        about = ["--pyproject", str(each.folder / "pyproject.toml"), "--mc-type", "library"]
        out = wheels.sbom(each, DIST)
        session.run(
            "cyclonedx-py", "environment", python, *about, "--output-reproducible",
            "--spec-version", "1.6", "--output-format", "JSON", "--output-file", str(out), silent=True,
        )  # fmt: skip
        session.log(f"{out.name}: {wheels.components(out)} packages")


@nox.session(requires=["build"])
def docs(session: nox.Session) -> None:
    """Build the documentation and run its examples; warnings are errors."""
    install(session, packages(), group("docs"))
    shutil.rmtree(ROOT / "docs" / "reference" / "generated", ignore_errors=True)
    session.run("sphinx-build", "-W", "--keep-going", "-q", "docs", "docs/_build/html")
    modules = [each.module for each in packages()]
    options = ["--doctest-modules", "--doctest-ignore-import-errors", "--collect-in-virtualenv"]
    session.run("pytest", "-q", "docs", *options, "--pyargs", *modules, *session.posargs)
    session.log(f"the documentation is at {ROOT / 'docs/_build/html/index.html'}")


@nox.session(requires=["build"])
def coverage_tables(session: nox.Session) -> None:
    """Simulate how often intervals and decisions are right, and write docs/coverage-tables.md."""
    core = package(CORE)
    install(session, [core], ["bench-core[statistics]", "scipy"])
    session.run("python", str(core.folder / "benchmarks" / "coverage_table.py"), *session.posargs)


# what two nox beside each other need first must not be made anew by both
@nox.session(reuse_venv=True)
def build(session: nox.Session) -> None:
    """Build seven wheels and sdists into dist/ and check them; keep those that are up to date."""
    outdated = wheels.stale(DIST, ROOT)
    if not outdated:
        session.log("dist/ is up to date")
        return
    session.install(*group("build"))
    command = ["python", "-m", "build", "--no-isolation", "--outdir", str(DIST)]
    for each in outdated:
        wheels.forget(each, DIST)
        session.run(*command, str(each.folder), silent=True)
    built = [str(path) for each in outdated for path in wheels.distributions(each, DIST)]
    session.run("twine", "check", "--strict", *built)
    wheels.record(DIST, outdated)


@nox.session(requires=["build"])
def demo(session: nox.Session) -> None:
    """Run every benchmark's demo on its built-in world and report on them."""
    needed = ["bench-report", *(each for row in DEMOS for each in row[0])]
    shown = dict.fromkeys([CORE, *(each.partition("[")[0] for each in needed)])
    install(session, [package(name) for name in shown], needed)
    provide_chromium(session)
    out = ROOT / "runs" / "demo"
    shutil.rmtree(out, ignore_errors=True)
    runs = []
    for (name, *_), command, folders in DEMOS:
        session.run(*command, str(out / name))
        runs += [str(out / name / folder) for folder in folders]
    # one page of several benchmarks, labelled as such
    session.run("bench-report", "build", *runs, "--mix", "--out", str(out / "report"))
    atexit.register(print, out / "report" / "index.html")  # the last line, after nox's own


@nox.session(requires=["build"])
def first_hours(session: nox.Session) -> None:
    """Run the first-hour pages as they are written, each from an empty environment: minutes."""
    session.install(*group("build"))
    provide_chromium(session)
    session.run("python", "-m", "nox_support.first_hours", *session.posargs)


@nox.session(requires=["build"])
def shown_commands(session: nox.Session) -> None:
    """Run every command line that pages and helps show and that the built-in worlds are enough for: an hour."""
    needed = [*group("integration"), *groups("test"), "bench-core[serve]"]
    install(session, packages(), needed)
    provide_chromium(session)
    session.run("python", "-m", "nox_support.shown_commands", *session.posargs)


@nox.session(requires=["build"])
def gallery(session: nox.Session) -> None:
    """Take the pictures of docs/gallery.md anew."""
    shown = [package(CORE), package("bench-report")]
    install(session, shown, ["bench-report", *group("test", package("bench-report").folder)])
    provide_chromium(session)
    session.run("python", "-m", "nox_support.gallery")


@nox.session(requires=["build"])
@nox.parametrize("name", [*MEASURED, TOGETHER], ids=[*MEASURED, TOGETHER])
def bench(session: nox.Session, name: str) -> None:
    """Run a package's benchmarks, each beside a peer in the same run."""
    peers = {}
    if name == TOGETHER:
        folder = ROOT / "integration_tests"
        install(session, packages(), group("bench"))
        session.install("uv")
        provide_chromium(session)
        # needs another Playwright
        browsergym = _interpreter(session, "browsergym", "3.11", ["browsergym-core==0.14.3"])
        peers["PROCTOR_BROWSERGYM"] = browsergym
    else:
        folder = package(name).folder
        install(session, with_core(package(name)), group("bench", folder))
    for script in sorted((folder / "benchmarks").glob("bench_*.py")):
        session.run("python", str(script), *session.posargs, env=peers)


@nox.session(requires=["build"])
def campaign(session: nox.Session) -> None:
    """Draw many cases by seed where a test draws one: hours, on all cores."""
    needed = [*group("integration"), *groups("test"), *groups("objects")]
    install(session, packages(), needed)
    provide_chromium(session)
    for script in sorted((ROOT / "integration_tests" / "campaigns").glob("campaign_*.py")):
        session.run("python", str(script), *session.posargs)


@nox.session(requires=["build"])
def inversions(session: nox.Session) -> None:
    """Turn decisions around, one at a time, each of which a test must notice: minutes, on all cores."""
    needed = [*group("parallel"), *group("integration"), *groups("test"), *groups("objects")]
    install(session, packages(), needed)
    provide_chromium(session)
    session.run("python", "-m", "nox_support.inversions", *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Bump a package or all, write changelogs, commit, print the tags: `-- waa-client minor`."""
    if len(session.posargs) != len(("package", "step")):
        session.error("usage: nox -s release -- PACKAGE|all major|minor|patch|VERSION")
    session.install(*group("release"))
    session.run("python", "-m", "nox_support.releasing", *session.posargs)


@nox.session
def release_rehearsal(session: nox.Session) -> None:
    """Release a clone to an index on this machine and install from it: all packages, then one alone."""
    session.install(*group("build"), *group("release"), *group("rehearsal"))
    provide_chromium(session)
    session.run("python", "-m", "nox_support.rehearsal", *session.posargs)
