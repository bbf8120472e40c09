"""The code blocks on a page: which ones run, and what they must print.

A page's blocks run from top to bottom in a folder that has the demo's logs. Python blocks
share one process. A block without a language right after a Python block shows what that block
prints and the value of its last expression. A block that starts with `$ ` is a command and its
output. The only other blocks that run are shell lines, marked `sh`. A comment above a block
keeps it from running and says why:

    <!-- not run: needs a bucket -->
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^>]+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"[\[(]*-?\d[\d.,:e+-]*?%?(?P<end>[])}.,;]*)")
BRAILLE = re.compile("[\u2800-\u28ff]+")


@dataclass(frozen=True)
class Block:
    """A code block: its language, its text, and the line on which it starts."""

    language: str
    text: str
    line: int
    is_output: bool = False

    @property
    def is_python(self) -> bool:
        return self.language == "python"

    @property
    def is_session(self) -> bool:
        return self.text.startswith("$ ")

    @property
    def is_script(self) -> bool:
        return self.language == "sh" and not self.is_session


def read_blocks(page: Path) -> list[Block]:
    """Return the blocks on a page, except those marked as not run."""
    text = page.read_text(encoding="utf-8")
    matches = list(FENCE.finditer(text))
    blocks = []
    for before, match in itertools.pairwise([None, *matches]):
        assert match is not None
        is_output = (
            before is not None
            and before["language"] == "python"
            and not before["reason"]
            and match["language"] in ("", "text")
            and text[before.end() : match.start()] == "\n"
        )
        if not match["reason"]:
            line = text.count("\n", 0, match.start()) + 1
            blocks.append(Block(match["language"], match["text"], line, is_output))
    return blocks


def forms(output: str) -> list[str]:
    """Return lines with N in place of each number, and without what depends on host or width."""
    output = re.sub(r"(tfevents)\.\S+?(\.\d{6}\.runfold)", r"\1\2", BRAILLE.sub("", output))
    output = re.sub(r"\b[kM]B\b", "B", output)
    return [" ".join(map(_form, line.split())) for line in output.splitlines()]


def _form(word: str) -> str:
    number = NUMBER.fullmatch(word)
    return f"N{number['end']}" if number else word


def assert_printed(output: str, expected: str) -> None:
    """Compare two outputs by their forms. The line `...` on the page stands for any lines."""
    head, is_cut, tail = expected.partition("\n...\n")
    lines, first, last = forms(output), forms(head), forms(tail)
    if is_cut:
        assert lines[: len(first)] + lines[len(lines) - len(last) :] == first + last
    else:
        assert lines == first


def run_line(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line from a page in a shell that finds this environment's programs."""
    programs = os.path.dirname(sys.executable)
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


class PageProcess:
    """A Python process that runs a page's blocks one after another."""

    # Reads code as JSON lines; answers with what was printed, the value's repr, or the error.
    LOOP = """
import ast, contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    code, output = json.loads(line), io.StringIO()
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(tree, "<page>", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
                if value is not None:
                    print(repr(value))
        answer = {"output": output.getvalue()}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    sys.__stdout__.write(json.dumps(answer) + "\\n")
    sys.__stdout__.flush()
"""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.LOOP],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "agg", "COLUMNS": "120"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str) -> str:
        """Run a block, and return what it printed and the value of its last expression."""
        import json

        ast.parse(code)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return str(answer["output"])

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def run_page(page: Path, folder: Path) -> int:
    """Run a page's blocks in a folder, compare what they print, and return how many ran."""
    blocks = read_blocks(page)
    process = PageProcess(folder)
    output, count = "", 0
    try:
        for block in blocks:
            where = f"{page.name}:{block.line}"
            count += block.is_python or block.is_session or block.is_script
            try:
                if block.is_python:
                    output = process.run(block.text)
                elif block.is_output:
                    assert_printed(output, block.text)
                elif block.is_session:
                    line, _, expected = block.text[2:].partition("\n")
                    done = run_line(line, folder)
                    is_check = line.startswith("runfold check")
                    assert done.returncode == 0 or is_check, done.stderr
                    assert_printed(done.stdout + done.stderr, expected)
                elif block.is_script:
                    done = run_line(f"set -e\n{block.text}", folder)
                    assert done.returncode == 0, done.stderr
            except AssertionError as error:
                raise AssertionError(f"{where}: {error}") from error
    finally:
        process.close()
    return count
