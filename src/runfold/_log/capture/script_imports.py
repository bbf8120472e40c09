"""Imports of a script that another process runs, found by parsing its source."""

from __future__ import annotations

import ast
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence

_MOST_FILES = 2_000
_LONGEST = 1_000_000


def trace_imports(script: str, folders: Iterable[str]) -> list[str]:
    """Return the paths of a script and of the modules in `folders` that it imports.

    Indirect imports and imports inside functions are included. Files that are not
    valid Python are not searched.
    """
    folders = list(dict.fromkeys([os.path.dirname(script), *folders]))
    found: dict[str, None] = {}
    waiting = [script]
    while waiting and len(found) < _MOST_FILES:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting += _find_next(path, folders)
    return list(found)


def find_script(command: Sequence[str]) -> str | None:
    """Return the script that `python train.py` or `python -m package.train` runs, or None."""
    for flag, name in itertools.pairwise(command):
        if flag == "-m" and (module := find_module(name, os.getcwd())):
            return module
    return next((part for part in command if part.endswith(".py")), None)


def find_module(name: str, folder: str) -> str | None:
    """Return the file below `folder` that `python -m` would run, or None."""
    path = os.path.join(folder, *name.split("."))
    candidates = (os.path.join(path, "__main__.py"), path + ".py")
    return next(filter(os.path.isfile, candidates), None)


def _find_next(path: str, folders: list[str]) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            nodes = list(ast.walk(ast.parse(file.read(_LONGEST))))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _find_files(alias.name, folders)
        elif isinstance(node, ast.ImportFrom):
            parents = folders
            if node.level:
                ups = [os.pardir] * (node.level - 1)
                parents = [os.path.normpath(os.path.join(os.path.dirname(path), *ups))]
            module = f"{node.module}." if node.module else ""
            for alias in node.names:
                yield from _find_files(module + alias.name, parents)


def _find_files(name: str, folders: list[str]) -> Iterator[str]:
    """Yield the files for a dotted name and for its parent packages."""
    parts = name.split(".")
    for folder in folders:
        for count in range(1, len(parts) + 1):
            path = os.path.join(folder, *parts[:count])
            candidates = (path + ".py", os.path.join(path, "__init__.py"))
            yield from filter(os.path.isfile, candidates)
