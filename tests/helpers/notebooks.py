"""Execution of an example notebook, and comparison of its outputs with the saved ones."""

import math
import os
import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import nbformat

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

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


def find_stale_output(path: Path, folder: Path) -> str:
    """Run a notebook; describe the first output that is not the saved one, or return ""."""
    name = path.relative_to(EXAMPLES)
    subprocess.run(
        [sys.executable, EXAMPLES / "run.py", "--output", folder, name],
        env={**os.environ, "TMPDIR": str(folder)},
        check=True,
    )
    fresh = texts_of(nbformat.read(folder / name, as_version=4))
    saved = texts_of(nbformat.read(path, as_version=4))
    if [output[:2] for output in fresh] != [output[:2] for output in saved]:
        kinds = [[f"{kind} of cell {cell}" for cell, kind, _ in texts] for texts in (fresh, saved)]
        return f"the outputs are {kinds[0]} instead of {kinds[1]}"
    for (cell, kind, text), (_, _, expected) in zip(fresh, saved, strict=True):
        if difference := find_difference(text, expected):
            return (
                f"{kind} of cell {cell} has {difference}. "
                f"If the new output is right, run `python examples/run.py {name}`."
            )
    return ""
