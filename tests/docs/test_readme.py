"""The README's commands and Python blocks run as pasted, and print what it shows."""

import ast
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.checkout import ROOT
from helpers.cli_runs import run_apart
from helpers.services import own_state

README = (ROOT / "README.md").read_text(encoding="utf-8")
# Each block as its language and its text.
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
# A block of a command and its output: `$ COMMAND`, then what it prints.
SESSIONS = [text[2:].split("\n", 1) for _, text in BLOCKS if text.startswith("$ ")]
# The other commands of the shell, but for `make` and `pip`.
LINES = [
    line
    for language, text in BLOCKS
    for line in text.splitlines()
    if not language and line.startswith(("runfold ", "cp ", "printf ", "truncate ", "touch "))
]
DAMAGES = [line for line in LINES if not line.startswith("runfold ")]

NUMBER = re.compile(r"[\[(]*-?\d[\d.,:e+-]*?%?(?P<end>[])}.,;]*)")
BRAILLE = re.compile("[\u2800-\u28ff]+")


def forms(output: str) -> list[str]:
    """Lines with N for each number, and without what depends on the host or the width."""
    output = re.sub(r"(tfevents)\.\S+?(\.\d{6}\.runfold)", r"\1\2", BRAILLE.sub("", output))
    output = re.sub(r"\b[kM]B\b", "B", output)
    return [" ".join(map(_form, line.split())) for line in output.splitlines()]


def _form(word: str) -> str:
    number = NUMBER.fullmatch(word)
    return f"N{number['end']}" if number else word


def assert_printed(output: str, expected: str) -> None:
    """Compare two outputs by their forms. A line `...` in the README stands for any lines."""
    head, is_cut, tail = expected.partition("\n...\n")
    lines, first, last = forms(output), forms(head), forms(tail)
    if is_cut:
        assert lines[: len(first)] + lines[len(lines) - len(last) :] == first + last
    else:
        assert lines == first


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    assert run_apart("demo", cwd=folder).returncode == 0
    for line in DAMAGES:
        done = run_line(line, folder)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    return folder


def run_line(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    programs = os.path.dirname(sys.executable)
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("line", "expected"), SESSIONS, ids=[line for line, _ in SESSIONS])
def test_a_command_prints_what_the_readme_shows(line: str, expected: str, place: Path) -> None:
    done = run_line(line, place)
    assert done.returncode == (1 if line == "runfold check broken" else 0), done.stderr
    assert_printed(done.stdout + done.stderr, expected)


def test_the_readme_has_its_commands() -> None:
    assert len(SESSIONS) >= 8
    assert len(LINES) >= 13
    assert len(DAMAGES) == 4


def test_the_other_commands_run_as_pasted(place: Path, tmp_path: Path) -> None:
    with own_state(tmp_path):
        for line in LINES:
            if line not in DAMAGES:
                done = run_line(line, place)
                assert done.returncode == 0, f"{line}: {done.stderr}"


def test_the_python_blocks_run_as_pasted_and_give_what_the_readme_shows(place: Path) -> None:
    script, expected = [], []
    for (language, text), (next_language, output) in itertools.pairwise([*BLOCKS, ("", "")]):
        if language != "python":
            continue
        # An output block follows its Python block at once.
        if next_language or f"{text}```\n```\n{output}" not in README:
            script.append(text)
            continue
        *rest, last = ast.parse(text).body
        assert isinstance(last, ast.Expr)
        script += [*map(ast.unparse, rest), f"print(repr({ast.unparse(last.value)}))"]
        expected.append(output)
    assert len(script) >= 8
    assert len(expected) >= 4
    done = subprocess.run(
        [sys.executable, "-"],
        input="\n".join(script),
        cwd=place,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert_printed(done.stdout, "".join(expected))
