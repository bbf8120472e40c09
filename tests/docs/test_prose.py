"""Plain English everywhere: no phrase that a native technical writer would rewrite."""

from pathlib import Path

import pytest
from helpers.checkout import ROOT
from helpers.prose import (
    find_avoided,
    find_vague_names,
    read_cython,
    read_paragraphs,
    read_python,
)

PAGE = Path("src/runfold/_serve/page")
QUOTES = ROOT / "tests" / "helpers" / "prose.py"  # contains the phrases to avoid


def list_files(*folders: str, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files below folders of the checkout, except built and installed ones."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return sorted(path for path in found if path.suffix in suffixes and not is_built(path))


def is_built(path: Path) -> bool:
    names = path.relative_to(ROOT).parts
    return bool({"node_modules", "generated"} & set(names)) or names[:4] == PAGE.parts


PYTHON = [
    path
    for path in list_files(
        *("src", "tests", "benchmarks", "fuzz", "docs", "examples"), suffixes=(".py",)
    )
    if path != QUOTES
]
CYTHON = list_files("src", suffixes=(".pyx", ".pxd"))
TEXT = sorted(
    [
        *list_files("docs", "web", ".github", suffixes=(".md", ".ts", ".tsx", ".css", ".yml")),
        *ROOT.glob("*.md"),
        *(ROOT / name for name in ("Makefile", "pyproject.toml", "setup.py")),
    ]
)


def name_file(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_test(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tests")


@pytest.mark.parametrize("path", [*PYTHON, *CYTHON, *TEXT], ids=name_file)
def test_sentences_are_plain_english(path: Path) -> None:
    if path in PYTHON:
        sentences = read_python(path, with_strings=not is_test(path))
    elif path in CYTHON:
        sentences = read_cython(path)
    else:
        sentences = read_paragraphs(path)
    found = [f"{path.name}:{line}: {hit}" for line, text in sentences for hit in find_avoided(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", PYTHON, ids=name_file)
def test_names_say_what_they_hold(path: Path) -> None:
    found = [f"{path.name}:{line}: {name}" for line, name in find_vague_names(path)]
    assert not found, "\n".join(found)


def test_the_check_finds_what_it_should() -> None:
    assert find_avoided("The tag is told\nof once.")[0].startswith("'is told' in")
    assert len(find_avoided("Replace files that are there, a file each.")) == 2
    assert find_avoided("There is no such run. The run is no longer running.") == []
