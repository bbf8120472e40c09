"""The layout of the package: folders of a readable size, unique names, no import cycles."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from helpers.checkout import ROOT

PACKAGE = ROOT / "src" / "runfold"
MOST_MODULES = 20
LONGEST_CHAIN = 15
CYTHON_IMPORT = re.compile(
    r"^\s*(?:from\s+(runfold[\w.]*)\s+c?import|c?import\s+(runfold[\w.]*))", re.M
)
# A line of the map in a package's docstring: a module, and what it is for.
MAP_LINE = r"^ {4}(\w+) {2,}(\S.*)"
COMMANDS = PACKAGE / "_cli" / "commands"
# All modules in each of these folders are of the same kind, like the commands of a group, so the
# package's docstring does not list them.
SELF_LISTING = [PACKAGE / "_export" / "formats", PACKAGE / "compat", PACKAGE / "integrations"]

# These modules have the names of the modules that they replace, which scripts import.
FOREIGN = PACKAGE / "compat"


def is_module(path: Path) -> bool:
    return path.suffix in (".py", ".pyx") and path.stem not in ("__init__", "__main__")


def modules_in(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.iterdir() if is_module(path))


def document_of(folder: Path) -> str:
    """Return a package's docstring with its indentation, which `ast.get_docstring` removes."""
    document = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()), clean=False)
    return document or ""


PACKAGES = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path for suffix in ("py", "pyx") for path in PACKAGE.rglob(f"*.{suffix}")}


@pytest.mark.parametrize("folder", PACKAGES, ids=name_of)
def test_a_package_fits_on_one_screen(folder: Path) -> None:
    # A user looks for a framework by its name, however many there are.
    assert len(modules_in(folder)) <= MOST_MODULES or folder == PACKAGE / "integrations"


@pytest.mark.parametrize("folder", PACKAGES, ids=name_of)
def test_a_package_has_a_map_of_its_modules(folder: Path) -> None:
    if folder.parent == COMMANDS or folder in SELF_LISTING:
        return
    document = document_of(folder)
    listed = {name for name, _ in re.findall(MAP_LINE, document, re.MULTILINE)}
    inner = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    modules = inner.union(modules_in(folder))
    assert listed <= modules
    assert modules - listed - set(re.findall(r"`(\w+)`", document)) == set()


def test_no_module_name_occurs_twice_except_for_a_command_and_its_library_call() -> None:
    places = defaultdict(list)
    for name, path in SOURCES.items():
        is_command = name.startswith("runfold._cli.commands.")
        if is_module(path) and not is_command and not path.is_relative_to(FOREIGN):
            places[path.stem].append(name)
    assert {stem: names for stem, names in places.items() if len(names) > 1} == {}


@cache
def imports_of(name: str, *, lazy: bool) -> frozenset[str]:
    """Return Runfold's modules that a module imports; `lazy` includes imports in functions."""
    text = SOURCES[name].read_text()
    found = set()
    if SOURCES[name].suffix == ".pyx":
        found = {first or second for first, second in CYTHON_IMPORT.findall(text)}
    else:
        for node in walk_imports(ast.parse(text), lazy=lazy):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= (inner & SOURCES.keys()) or {node.module}
    return frozenset(found & SOURCES.keys() - {name})


def walk_imports(node: ast.AST, *, lazy: bool):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        elif lazy or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from walk_imports(child, lazy=lazy)


def find_cycle(*, lazy: bool) -> list[str]:
    """Return modules that form an import cycle, or an empty list."""
    finished: set[str] = set()

    def follow(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name not in finished:
            for other in sorted(imports_of(name, lazy=lazy)):
                if cycle := follow(other, [*path, name]):
                    return cycle
            finished.add(name)
        return []

    return next(filter(None, (follow(name, []) for name in SOURCES)), [])


@pytest.mark.parametrize("lazy", [False, True], ids=["at import", "also in functions"])
def test_there_are_no_import_cycles(lazy: bool) -> None:
    assert find_cycle(lazy=lazy) == []


def test_the_longest_import_chain_is_short() -> None:
    @cache
    def longest(name: str) -> tuple[str, ...]:
        rest = max((longest(other) for other in imports_of(name, lazy=False)), key=len, default=())
        return (name, *rest)

    assert len(max(map(longest, SOURCES), key=len)) <= LONGEST_CHAIN
