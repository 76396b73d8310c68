"""What is public: the modules each package lists, who imports others, and what they offer.

`[tool.proctor]` in a package's pyproject.toml lists its public modules, in one place. From the list
come the import-linter contract on other packages' sources, the check of tests and documentation, the
committed snapshot `public-api.txt` beside the list, and the pages of the API reference.

`griffe check` compares with a commit: it needs one to compare with, and says nothing of names that are new. The
snapshot shows a reviewer both.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nox_support.packages import ROOT, packages
from nox_support.stubs import offered

if TYPE_CHECKING:
    from collections.abc import Iterator

    import griffe

    from nox_support.packages import Package

__all__ = ["foreign_imports", "is_public", "public_modules", "reference_page", "snapshot", "stale"]

SNAPSHOT = "public-api.txt"
_EXAMPLE = re.compile(r"^```(?:python|pycon|py)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^(?:>>> |\.\.\. |>>>$|\.\.\.$)", re.MULTILINE)
_OURS = "integration_tests"


def public_modules(root: Path = ROOT) -> dict[str, tuple[str, ...]]:
    """Return the public modules of each import package."""
    return {each.module: _listed(each) for each in packages(root)}


def is_public(module: str, listed: dict[str, tuple[str, ...]]) -> bool:
    """Whether other packages may import from `module`, or it is not one of ours."""
    return module in listed.get(module.partition(".")[0], (module,))


def foreign_imports(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each import of what another package has not made public.

    Looks where import-linter does not: at tests, benchmarks, `integration_tests` and the examples
    in documents. A package's own tests may import all of it.
    """
    listed = public_modules(root)
    for path, own, source in _sources(root):
        for line, name in _imports(source):
            package, _, _ = name.partition(".")
            if package == own or package not in listed:
                continue
            module = name if _is_module(root, name) else name.rpartition(".")[0]
            private = name.rpartition(".")[2].startswith("_") and module != name
            if private or not is_public(module, listed):
                yield f"{path.relative_to(root)}:{line}: {name} is not public"


def snapshot(package: Package) -> str:
    """Return what the package's public modules offer, a line for each name and signature."""
    import griffe  # the other functions need nothing that is not installed

    loaded = griffe.load(
        package.module, search_paths=[package.folder / "src"], resolve_aliases=False
    )
    assert isinstance(loaded, griffe.Module)  # noqa: S101  # a package is one
    lines: list[str] = []
    homes: dict[str, str] = {}
    for module in _listed(package):
        found = loaded if module == package.module else loaded[module.partition(".")[2]]
        for name in sorted({*map(str, found.exports or ()), *_from_stub(found)}):
            lines.extend(_described(found, f"{module}.{name}", name, homes))
    return "\n".join(lines) + "\n"


def reference_page(package: Package) -> str:
    """Return the page of the API reference: one entry for each public module."""
    entries = "\n".join(f"   {each}" for each in _listed(package))
    return (
        f"# The Python API of {package.name}\n\n"
        "What is documented here is public; everything else can change without notice. Import each name "
        "from the module\nunder which it stands here.\n\n"
        "```{eval-rst}\n.. autosummary::\n   :toctree: generated\n   :template: module.rst\n\n"
        f"{entries}\n```\n"
    )


def stale(root: Path = ROOT) -> dict[Path, str]:
    """Return the files that do not say what the sources and lists say, with what they should say."""
    expected: dict[Path, str] = {}
    for each in packages(root):
        expected[each.folder / SNAPSHOT] = snapshot(each)
        expected[root / "docs" / "reference" / f"{each.name}.md"] = reference_page(each)
    return {
        path: text
        for path, text in expected.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }


def main() -> int:
    """Print what breaks the rules; with `--write`, bring snapshots and reference pages up to date."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    problems = list(foreign_imports())
    for path, text in stale().items():
        if write:
            path.write_text(text, encoding="utf-8")
            sys.stderr.write(f"{path.relative_to(ROOT)} is written anew\n")
        else:
            problems.append(
                f"{path.relative_to(ROOT)} is not what the sources offer: if the change is meant, "
                "run `nox -s architecture -- --write` and commit it"
            )
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


def _listed(package: Package) -> tuple[str, ...]:
    return tuple(sorted(package.metadata["tool"]["proctor"]["public-modules"]))


def _from_stub(module: griffe.Module) -> set[str]:
    """Return the names that a package offers lazily, and its version."""
    stub = Path(str(module.filepath)).with_suffix(".pyi")
    return {*offered(stub), "__version__"} & {*module.members} if stub.is_file() else set()


def _sources(root: Path) -> Iterator[tuple[Path, str | None, str]]:
    """Yield each file that imports, the package it belongs to, and its Python."""
    for each in packages(root):
        for path in sorted(each.folder.rglob("*.py")):
            if each.folder / "src" not in path.parents:
                yield path, each.module, path.read_text(encoding="utf-8")
    for path in sorted((root / _OURS).rglob("*.py")):
        yield path, None, path.read_text(encoding="utf-8")
    pages = [*(root / "docs").rglob("*.md"), *root.glob("*.md"), *root.glob("packages/*/README.md")]
    for path in sorted(pages):
        text = path.read_text(encoding="utf-8")
        for found in _EXAMPLE.finditer(text):
            # blank lines before it, so that errors have the page's line numbers
            above = "\n" * text.count("\n", 0, found.start("code"))
            code = found["code"]
            yield path, None, above + (_PROMPT.sub("", code) if ">>>" in code else code)


def _imports(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of each import; what is no whole program has none."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{each.name}") for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)


def _is_module(root: Path, name: str) -> bool:
    package, _, rest = name.partition(".")
    source = root / "packages" / package.replace("_", "-") / "src" / package
    place = source.joinpath(*rest.split(".")) if rest else source
    return place.is_dir() or place.with_suffix(".py").is_file()


def _described(module: griffe.Module, path: str, name: str, homes: dict[str, str]) -> Iterator[str]:
    """Yield the lines of one public name; where it stands twice, the second refers to the first."""
    import griffe

    found = module.members.get(name)
    if found is None:
        yield f"{path}: missing"
        return
    if found.is_alias:
        try:
            found = found.final_target  # type: ignore[union-attr]  # an alias has one
        except griffe.AliasResolutionError:  # of a library, which is not looked into
            yield f"{path} = {found.target_path}"  # type: ignore[union-attr]
            return
    home = homes.setdefault(found.canonical_path, path)
    if home != path:
        yield f"{path} = {home}"
        return
    yield from _signature(found, path)


def _signature(found: griffe.Object | griffe.Alias, path: str) -> Iterator[str]:
    if found.is_function:
        yield found.signature(name=path)  # type: ignore[union-attr]  # a function has one
    elif found.is_class:
        bases = ", ".join(str(each) for each in found.bases)  # type: ignore[union-attr]
        yield f"{path}({bases})"
        for name, member in sorted(found.members.items()):
            if member.is_alias or (name.startswith("_") and name != "__init__"):
                continue
            yield from _signature(member, f"{path}.{name}")
    elif found.is_attribute:
        annotation = found.annotation  # type: ignore[union-attr]
        yield f"{path}: {annotation}" if annotation is not None else path
    else:
        yield path


if __name__ == "__main__":
    sys.exit(main())
