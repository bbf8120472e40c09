"""Rules for which files are a project's sources, by name and by import."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator

from runfold._log.masking.secret_names import is_secret

_PROGRAMS = (
    *(".py", ".pyx", ".pxd", ".pxi", ".pyi", ".ipynb", ".sh", ".bash", ".zsh", ".slurm", ".sbatch"),
    *(".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".rs", ".go", ".js", ".ts", ".jl", ".r"),
    *(".lua", ".sql", ".proto", ".mk", ".cmake"),
)
_SETTINGS = (
    *(".yaml", ".yml", ".toml", ".jsonnet", ".ini", ".cfg", ".conf", ".gin", ".in", ".j2"),
    ".properties",
)
# Settings, but just as often data: labels, annotations, caches.
_DATA = (".json", ".xml")
_LARGEST_DATA = 1 << 16
_NAMES = ("makefile", "dockerfile", "snakefile", "justfile", "cmakelists.txt")
_REQUIREMENTS = re.compile(r"(?:requirements|constraints).*\.txt")


def is_installed(path: str) -> bool:
    """Whether a script is part of an installed package, such as the `pytest` command."""
    if os.path.dirname(path) == sysconfig.get_path("scripts"):
        return True
    return not _is_of_project(path)


def _is_of_project(path: str) -> bool:
    if {"site-packages", "dist-packages"} & set(path.split(os.sep)):
        return False
    library = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    return not path.startswith(tuple(folder + os.sep for folder in library if folder))


def list_imported() -> Iterator[str]:
    """Yield the source files of all modules imported in this process."""
    for module in list(sys.modules.values()):
        try:
            # Bypass the module's own `__getattr__`, which may trigger lazy imports.
            file = object.__getattribute__(module, "__dict__").get("__file__")
        except AttributeError:
            continue
        if isinstance(file, str) and file.endswith((".py", ".pyx")):
            yield file


def choose_own(files: Iterable[str], root: str) -> Iterator[str]:
    """Yield the project's files below `root`, as paths relative to it."""
    inside = root.rstrip(os.sep) + os.sep
    for path in dict.fromkeys(map(os.path.realpath, files)):
        if path.startswith(inside) and _is_of_project(path):
            yield path.removeprefix(inside).replace(os.sep, "/")


def is_program(path: str) -> bool:
    """Whether a file's name marks it as code rather than settings."""
    return path.lower().endswith(_PROGRAMS)


def is_source(path: str) -> bool:
    """Whether a file's name marks it as code or settings."""
    name = path.rpartition("/")[2].lower()
    if name.endswith((*_PROGRAMS, *_SETTINGS, *_DATA)) or name.startswith(_NAMES):
        return True
    return _REQUIREMENTS.fullmatch(name) is not None


def is_data(path: str, size: int) -> bool:
    """Whether a JSON or XML file is too large to be settings."""
    return path.lower().endswith(_DATA) and size > _LARGEST_DATA


def is_kept_secret(path: str) -> bool:
    """Whether a file's name suggests secrets: `secrets.toml` and `.env`, but not `token.py`."""
    stem, suffix = os.path.splitext(path.rpartition("/")[2].lower())
    if stem.startswith(".env") or stem in (".netrc", ".pypirc", ".npmrc"):
        return True
    return suffix not in _PROGRAMS and is_secret(stem, stem)
