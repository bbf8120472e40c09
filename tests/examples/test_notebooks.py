"""The example notebooks run from start to end, and their saved outputs are current."""

import getpass
import math
import os
import re
import socket
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest
from helpers.checkout import ROOT

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LARGEST = 300_000
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w.]*\w)")
# What differs from run to run, and its replacement.
VOLATILE = [
    (re.compile(r"data:image/png;base64,[\w+/=]+"), "PICTURE"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\b1\.\d+e\+09\b"), "TIME"),
    (re.compile(r"\b\d[\d.,]* (µs|ms|s|min|h)\b"), "DURATION"),
    (re.compile(r"\b\d[\d.,]* [kM]?B\b"), "SIZE"),
]


def texts_of(notebook) -> list[tuple[int, str, str]]:
    """Return the cell, kind and text of each output, without times, sizes and pixels."""
    return [
        (number, kind, simplify(text))
        for number, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", [])
        for kind, text in texts_in(output)
    ]


def texts_in(output) -> list[tuple[str, str]]:
    if output.output_type == "stream":
        return [(output.name, output.text)]
    return [(kind, "" if kind.startswith("image/") else text) for kind, text in output.data.items()]


def simplify(text: str) -> str:
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def are_alike(word: str, other: str) -> bool:
    """Return whether two words are equal, except for rounding errors in their numbers."""
    numbers, others = (map(float, NUMBER.findall(text)) for text in (word, other))
    return NUMBER.sub("N", word) == NUMBER.sub("N", other) and all(
        math.isclose(number, another, rel_tol=1e-3, abs_tol=1e-5)
        for number, another in zip(numbers, others, strict=True)
    )


def find_difference(text: str, expected: str) -> str:
    """Describe the first words that differ, or return an empty text."""
    words, others = text.split(), expected.split()
    for index, (word, other) in enumerate(zip_longest(words, others, fillvalue="")):
        if not are_alike(word, other):
            before = " ".join(words[max(index - 8, 0) : index])
            return f"{word!r} instead of {other!r} after {before!r}"
    return ""


def test_the_comparison_allows_for_times_and_rounding_errors_only():
    assert find_difference("loss 0.12345 of seed-1", "loss 0.12346 of seed-1") == ""
    assert find_difference("-1e-17", "2e-17") == ""
    assert find_difference("<td>0.5</td> a", "<td>0.6</td> a") == (
        "'<td>0.5</td>' instead of '<td>0.6</td>' after ''"
    )
    assert find_difference("loss of seed-1", "loss of seed-2") == (
        "'seed-1' instead of 'seed-2' after 'loss of'"
    )
    assert find_difference("1 run", "1 run more") == "'' instead of 'more' after '1 run'"
    assert simplify("start 2026-01-31 12:30:00.5+00:00  in 0.3 s") == "start TIME in DURATION"
    assert simplify("1.795011e+09 and 11.0 kB") == "TIME and SIZE"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_saved_outputs_are_current(path: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, EXAMPLES / "run.py", "--output", tmp_path, path.name],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=True,
    )
    fresh = texts_of(nbformat.read(tmp_path / path.name, as_version=4))
    saved = texts_of(nbformat.read(path, as_version=4))
    assert [output[:2] for output in fresh] == [output[:2] for output in saved]
    for (cell, kind, text), (_, _, expected) in zip(fresh, saved, strict=True):
        assert not (difference := find_difference(text, expected)), (
            f"{kind} of cell {cell} has {difference}. "
            f"If the new output is right, run `python examples/run.py {path.name}`."
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_saved_notebook_is_complete_small_and_names_no_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < LARGEST
    assert notebook.metadata == METADATA
    assert all(cell.metadata == {} for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
    for _, kind, text in texts_of(notebook):
        assert kind not in ("stderr", "error")
        assert not re.search(r"(?<![\w.<])/(home|root|Users|tmp|var|private|work)/", text)
        assert not re.search(r"\b[A-Z]:\\", text)
        for name in (getpass.getuser(), socket.gethostname(), str(Path.home())):
            assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)


def test_the_readme_links_every_notebook() -> None:
    links = re.findall(r"\]\((\w+\.ipynb)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert sorted(links) == [path.name for path in NOTEBOOKS]
