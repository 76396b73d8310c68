"""Everything a developer does here: `nox --list` shows it, CONTRIBUTING.md explains it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nox

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from nox_support import interpreters, metadata, wheels  # noqa: E402  # needs the path above
from nox_support.compatibility import compare_with_reference_loops, compatibility_parts, python_with  # noqa: E402  # same
from nox_support.installing import (  # noqa: E402  # same
    DIST,
    build_missing,
    group,
    groups,
    install,
    install_lowest,
    provide_chromium,
    with_core,
    with_extras,
)
from nox_support.packages import CORE, Package, package, packages  # noqa: E402  # same

nox.needs_version = ">=2025.11.12"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # ask for it with the flag of that name

os.environ["PATH"] = interpreters.search_path(os.environ, Path.home())
os.environ["UV_PYTHON_DOWNLOADS"] = "never"
# tests start hundreds of Pythons, each of which would compile all that it imports anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

CONTRIBUTOR = ["contributor"]
"""Marks the five sessions that a contributor needs, of which CONTRIBUTING.md tells."""
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

OWN = [
    nox.param(OWN_PYTHON, each.name, id=f"{each.name}, {OWN_PYTHON}", tags=[each.name])
    for each in packages()
]
OTHERS = [
    nox.param(python, each.name, False, id=f"{each.name}, {python}", tags=[each.name])
    for each in packages()
    for python in each.pythons
    if python != OWN_PYTHON
]
"""Each package on the Python that runs nox, and on each of the others."""
LOWEST = [
    nox.param(each.pythons[0], each.name, True, id=f"{each.name}, lowest") for each in packages()
]
"""Each package on its oldest Python, with the oldest versions of what it requires."""
PLAIN_WORDS = [
    "--dictionary=nox_support/plain_words.txt",
    # words of goals and criteria; a prompt whose hash calibrations name; what tests of judges plant
    "--skip=*/prompts/common_in_goals.txt,*/prompts/prompt.py,*/planted_text.py,*/_build,*/generated",
]
"""The words that texts do without, each with the plain one to use instead."""
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

nox.options.sessions = [
    "lint",
    "typecheck",
    "architecture",
    "tests",
    *(f"pythons({each.id})" for each in OTHERS),
]


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, spelling and workflows, and that texts use the field's words."""
    session.install(*group("lint"))
    _check_style(session)
    session.run("zizmor", "--offline", "--quiet", ".github")


def _check_style(session: nox.Session) -> None:
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    # benchmark, run, trial, score, judge: one name per idea, in what users and readers meet
    read = [each for pattern in ("src", "README.md") for each in ROOT.glob(f"packages/*/{pattern}")]
    session.run("codespell", *PLAIN_WORDS, *map(str, [*read, *ROOT.glob("*.md")]), "docs")


@nox.session(tags=CONTRIBUTOR)
def typecheck(session: nox.Session) -> None:
    """Check each package with mypy, strict, on its oldest Python; and the licences of what it brings."""
    install(session, packages(), [*map(with_extras, packages()), *group("typecheck")])
    oldest: dict[str, list[str]] = {}
    for each in packages():
        oldest.setdefault(each.pythons[0], []).append(str(each.folder / "src"))
    for python, sources in oldest.items():  # together, as each run reads the libraries anew
        session.run("mypy", "--python-version", python, *sources)
    session.run("mypy", "noxfile.py", "nox_support", "test_support")
    session.run("pip-licenses", silent=True)  # here, where every extra is installed


@nox.session(tags=CONTRIBUTOR)
def architecture(session: nox.Session) -> None:
    """Check who imports and requires whom, and what is public; `-- --write` renews the snapshots."""
    session.install(*group("architecture"))
    sources = os.pathsep.join(str(each.folder / "src") for each in packages())
    session.run("lint-imports", env={"PYTHONPATH": sources})
    session.run("python", "-m", "nox_support.public_api", *session.posargs)
    if broken := list(metadata.violations(ROOT)):
        session.error("; ".join(broken))


@nox.session(python=False)
def dev(session: nox.Session) -> None:
    """Make `.venv`, where editors look, an environment with what is needed to change all packages, or those named."""
    place = ROOT / ".venv"
    if not (uv := shutil.which("uv")):
        session.run(sys.executable, "-m", "pip", "install", "--quiet", "uv")
    run_uv = [uv] if uv else [sys.executable, "-m", "uv"]
    if not (place / "pyvenv.cfg").exists():
        session.run(*run_uv, "venv", "--quiet", "--python", sys.executable, str(place))
    asked = [package(name) for name in session.posargs] or packages()
    needed = [*dict.fromkeys(one for each in asked for one in with_core(each))]
    sources = [option for each in needed for option in ("-e", str(each.folder))]
    tools = [each for name in ("lint", "typecheck", "parallel") for each in group(name)]
    tools += [each for one in needed for each in group("test", one.folder)]
    install = ("pip", "install", "--quiet", "--python", str(place))
    session.run(*run_uv, *install, *sources, *tools)
    bin_ = place / ("Scripts" if sys.platform == "win32" else "bin")
    session.log(
        f"{bin_ / 'python'} -m pytest {asked[0].folder.relative_to(ROOT) / 'tests'} -k NAME"
    )


@nox.session(tags=CONTRIBUTOR)
def quick(session: nox.Session) -> None:
    """Check style, words, imports and the quick tests about what has changed: under three minutes."""
    sources = [option for each in packages() for option in ("-e", str(each.folder))]
    named = ("lint", "architecture", "parallel")
    needed = [each for name in named for each in group(name)]
    session.install(*sources, *needed, *groups("test"))
    _check_style(session)
    session.run("lint-imports")
    session.run("python", "-m", "nox_support.public_api")
    session.run("python", "-m", "nox_support.quick_tests", *session.posargs)


@nox.session(tags=CONTRIBUTOR)
@nox.parametrize("python, name", OWN)
def tests(session: nox.Session, name: str) -> None:
    """Test a package where only its wheel and bench-core's are installed, on the Python that runs nox."""
    tested = package(name)
    needed = [*group("parallel"), *group("test", tested.folder), *group("test-once", tested.folder)]
    install(session, with_core(tested), needed)
    if tested.has_browser_tests:
        provide_chromium(session, headless_shell=True)
    session.run("pytest", *PARALLEL, str(tested.folder / "tests"), *session.posargs)


@nox.session
@nox.parametrize("python, name, lowest", [*OTHERS, *LOWEST])
def pythons(session: nox.Session, name: str, lowest: bool) -> None:
    """Run a package's quick tests on its oldest and newest Python, and with the oldest of what it requires."""
    tested = package(name)
    needed = [*group("parallel"), *group("test", tested.folder)]
    if lowest:
        install_lowest(session, tested, needed)
    elif session.python in tested.pythons[1:-1] and not EVERY_PYTHON:
        session.skip(f"older and newer ones are tested; {EVERY} set to 1 runs this one, too")
    else:
        install(session, with_core(tested), needed)
    session.run("pytest", *PARALLEL, str(tested.folder / "tests"), "-m", QUICK, *session.posargs)


@nox.session
def integration(session: nox.Session) -> None:
    """Test all seven wheels together, and each alone in an environment of its own."""
    needed = [*group("parallel"), *group("integration"), *groups("test"), *groups("objects")]
    install(session, packages(), needed)
    provide_chromium(session, headless_shell=True)
    session.run("pytest", *PARALLEL, "integration_tests", *session.posargs)


@nox.session
@nox.parametrize(
    "run",
    [nox.param(run, id=name, tags=[tag]) for tag, name, run in compatibility_parts(PARALLEL)],
)
def compatibility(session: nox.Session, run: Callable[[nox.Session], None]) -> None:
    """Test with SDKs, browser-use, machines, Ray and programs of others, each in its environment."""
    run(session)


@nox.session
def real_windows(session: nox.Session) -> None:
    """Try WAA's own server under Wine: `-- CHECKOUT`, a clone of Windows Agent Arena, Debian's packages installed."""
    if not session.posargs:
        session.skip("name a clone of WindowsAgentArena or WindowsAgentArena-V2 after --")
    checkout, *options = session.posargs
    needed = ["waa-server-ext[all,vanilla]", "pip", *group("integration"), *groups("test")]
    install(session, packages(), needed)
    machine = ROOT / ".nox" / "wine-machine"
    if not machine.exists():
        session.run("waa-server-ext", "wine", "build", checkout, "--out", str(machine))
    env = {"PROCTOR_WINE_MACHINE": str(machine), "PROCTOR_WAA_CHECKOUT": checkout}
    tests = "packages/waa-server-ext/tests/vanilla/test_scores_under_wine.py"
    session.run("pytest", "-v", "-rP", "integration_tests/real_windows", tests, *options, env=env)


@nox.session
def real_sites(session: nox.Session) -> None:
    """Run WebArena's real path against MediaWiki, a shop, a code host and kiwix-serve, from Debian's packages and PyPI."""
    needed = ["django-oscar[sorl-thumbnail]>=4.2", *group("integration"), *groups("test")]
    install(session, packages(), needed)
    provide_chromium(session)
    env = {"PROCTOR_REAL_SITES": "1"}
    session.run("pytest", "-v", "integration_tests/real_sites", *session.posargs, env=env)


@nox.session
def reference_loops(session: nox.Session) -> None:
    """Compare our agents' requests with those of the providers' own loops; `-- --write` renews the reasons' table."""
    compare_with_reference_loops(session)


@nox.session
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


@nox.session(tags=CONTRIBUTOR)
def docs(session: nox.Session) -> None:
    """Build the documentation and run its examples; warnings are errors."""
    install(session, packages(), group("docs"))
    shutil.rmtree(ROOT / "docs" / "reference" / "generated", ignore_errors=True)
    session.run("sphinx-build", "-W", "--keep-going", "-q", "docs", "docs/_build/html")
    modules = [each.module for each in packages()]
    options = ["--doctest-modules", "--doctest-ignore-import-errors", "--collect-in-virtualenv"]
    session.run("pytest", "-q", "docs", *options, "--pyargs", *modules, *session.posargs)
    session.log(f"the documentation is at {ROOT / 'docs/_build/html/index.html'}")


# what two nox beside each other need first must not be made anew by both
@nox.session(reuse_venv=True)
def build(session: nox.Session) -> None:
    """Build wheels and sdists into dist/ and check them, those of `-- PACKAGE ...` or all; keep what is up to date."""
    wanted = [package(name) for name in session.posargs] or packages()
    outdated = [each for each in wheels.stale(DIST, ROOT) if each in wanted]
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


@nox.session
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


def _first_hours(session: nox.Session) -> None:
    build_missing(session, packages())
    session.install(*group("build"))
    provide_chromium(session)
    session.run("python", "-m", "nox_support.first_hours", *session.posargs)


def _shown_commands(session: nox.Session) -> None:
    needed = [*group("integration"), *groups("test"), "bench-core[serve]"]
    install(session, packages(), needed)
    provide_chromium(session)
    session.run("python", "-m", "nox_support.shown_commands", *session.posargs)


def _gallery(session: nox.Session) -> None:
    shown = [package(CORE), package("bench-report")]
    install(session, shown, ["bench-report", *group("test", package("bench-report").folder)])
    provide_chromium(session)
    session.run("python", "-m", "nox_support.gallery")


def _coverage_tables(session: nox.Session) -> None:
    core = package(CORE)
    install(session, [core], ["bench-core[statistics]", "scipy"])
    session.run("python", str(core.folder / "benchmarks" / "coverage_table.py"), *session.posargs)


def _exploits(session: nox.Session) -> None:
    needed = [*group("parallel"), *groups("test"), "waa-server-ext[accessibility,simulate]"]
    install(session, packages(), needed)
    provide_chromium(session)
    unguarded = "integration_tests/test_exploits_apps.py"
    session.run("pytest", *PARALLEL, unguarded, env={"EXPLOITS": "all"})
    session.run("python", "-m", "integration_tests.exploits.table", "--write")


PAGES = {
    "first-hours": _first_hours,  # as they are written, each from an empty environment: minutes
    "shown-commands": _shown_commands,  # those of all helps, too: an hour
    "gallery": _gallery,  # the pictures of docs/gallery.md
    "coverage-tables": _coverage_tables,  # docs/coverage-tables.md: how often intervals are right
    "exploits": _exploits,  # the table of docs/integrity.md: many minutes, on a quiet machine
}


@nox.session
@nox.parametrize("run", [nox.param(run, id=each, tags=[each]) for each, run in PAGES.items()])
def pages(session: nox.Session, run: Callable[[nox.Session], None]) -> None:
    """Run the command lines that pages show, or make their pictures and tables anew: minutes to hours."""
    run(session)


@nox.session
@nox.parametrize("name", [*MEASURED, TOGETHER], ids=[*MEASURED, TOGETHER])
def bench(session: nox.Session, name: str) -> None:
    """Run a package's benchmarks, each beside a peer in the same run."""
    peers = {}
    if name == TOGETHER:
        folder = ROOT / "integration_tests"
        install(session, packages(), group("bench"))
        provide_chromium(session)
        # needs another Playwright
        browsergym = python_with(session, "browsergym", "3.11", ["browsergym-core==0.14.3"])
        peers["PROCTOR_BROWSERGYM"] = browsergym
    else:
        folder = package(name).folder
        install(session, with_core(package(name)), group("bench", folder))
    for script in sorted((folder / "benchmarks").glob("bench_*.py")):
        session.run("python", str(script), *session.posargs, env=peers)


@nox.session
def campaign(session: nox.Session) -> None:
    """Draw many cases by seed where a test draws one: hours, on all cores."""
    needed = [*group("integration"), *groups("test"), *groups("objects")]
    install(session, packages(), needed)
    provide_chromium(session)
    for script in sorted((ROOT / "integration_tests" / "campaigns").glob("campaign_*.py")):
        session.run("python", str(script), *session.posargs)
    apps = "integration_tests/test_single_page_apps.py"  # built from npm's registry
    session.run("pytest", apps, env={"PROCTOR_NPM": "1"})


@nox.session
def mutants(session: nox.Session) -> None:
    """Turn decisions around, one at a time, each of which a test must notice: `-- --since main`; hours for all."""
    needed = [*group("parallel"), *group("integration"), *groups("test"), *groups("objects")]
    install(session, packages(), needed)
    session.run("python", "-m", "nox_support.mutation_testing", *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Bump, write changelogs, commit, print tags: `-- waa-client minor`; `-- rehearsal` first; `-- sbom PACKAGE`."""
    match session.posargs:
        case ["rehearsal"]:
            session.install(*group("build"), *group("release"), *group("rehearsal"))
            provide_chromium(session)
            session.run("python", "-m", "nox_support.rehearsal")
        case ["sbom", *names]:
            _write_sboms(session, [package(name) for name in names] or packages())
        case [_, _]:
            session.install(*group("release"))
            session.run("python", "-m", "nox_support.releasing", *session.posargs)
        case _:
            session.error("usage: nox -s release -- PACKAGE|all major|minor|patch|VERSION")


def _write_sboms(session: nox.Session, listed: list[Package]) -> None:
    """Write beside each wheel what an installation of it brings, as CycloneDX."""
    build_missing(session, packages())
    session.install(*group("sbom"), "uv")
    for each in listed:
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
