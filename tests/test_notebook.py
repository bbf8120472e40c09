"""How runs are displayed: in the terminal, in a notebook, and while they are read."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import types
from typing import ClassVar

import pytest
from helpers.logs import scalars, values, write

import runfold as rf
from runfold import _progress as progress
from runfold._events.value_encoding import text


def test_repr_shows_one_line_per_run(tmp_path):
    write(tmp_path / "seed-1", scalars("loss", (0, 1.0), (9, 0.5)), values(text("note", "hi")))
    lines = repr(rf.open(tmp_path)).splitlines()
    assert lines[0] == f"1 run in {tmp_path}"
    assert lines[1].split()[:4] == ["run", "tags", "points", "steps"]
    assert lines[2].split()[:4] == ["seed-1", "2", "3", "0..9"]


def test_repr_of_many_runs_shows_and_reads_only_the_first(tmp_path):
    for number in range(25):
        write(tmp_path / f"run-{number}", scalars("loss", (0, 1.0)))
    runs = rf.open(tmp_path)
    lines = repr(runs).splitlines()
    assert lines[0].startswith("25 runs in")
    assert lines[-1] == "... and 5 more"
    assert len(lines) == 2 + 20 + 1
    assert sum(log.is_loaded for log in runs._logdir.logs.values()) == 20
    assert "25 runs (the first 20 are shown)" in runs._repr_html_()


def test_repr_of_no_runs_says_so(tmp_path):
    assert repr(rf.open(tmp_path)) == f"0 runs in {tmp_path}"
    assert "<caption>0 runs</caption>" in rf.open(tmp_path)._repr_html_()


def test_repr_of_a_run_shows_its_tags(tmp_path):
    write(tmp_path / "seed-1", scalars("loss", (0, 1.0), (9, 0.5)), values(text("note", "hi")))
    run = rf.open(tmp_path)["seed-1"]
    lines = repr(run).splitlines()
    assert lines[0] == "Run seed-1: 3 points"
    assert lines[2].split() == ["loss", "scalar", "2", "0..9"]
    assert lines[3].split() == ["note", "text", "1", "0"]
    assert repr(run["loss"]) == ("Series('seed-1', 'loss', 2 points, steps 0..9, last value 0.5)")


def test_points_that_a_restart_hid_are_counted(tmp_path):
    def restart(buffer):
        buffer.session_start(0, 20.0)

    write(tmp_path, scalars("old", (0, 1.0), (1, 2.0)), restart, scalars("new", (0, 3.0)))
    runs = rf.open(tmp_path)
    head, line = (text.split() for text in repr(runs).splitlines()[1:])
    assert head[:5] == ["run", "tags", "points", "hidden", "steps"]
    assert line[:5] == [".", "2", "1", "2", "0"]
    assert [text.split() for text in repr(runs["."]).splitlines()[1:]] == [
        ["tag", "kind", "points", "hidden", "steps"],
        ["old", "scalar", "0", "2"],
        ["new", "scalar", "1", "0", "0"],
    ]
    assert "<th>hidden</th>" in runs._repr_html_()
    assert "<td>old</td><td>scalar</td><td>0</td><td>2</td><td></td>" in runs["."]._repr_html_()
    assert repr(runs["."]["old"]) == "Series('.', 'old', no points, 2 hidden by a restart)"


def test_run_with_many_tags_shows_the_first(tmp_path):
    write(tmp_path, *(scalars(f"tag-{number}", (0, 1.0)) for number in range(25)))
    run = rf.open(tmp_path)["."]
    assert repr(run).splitlines()[-1] == "... and 5 more"
    assert run._repr_html_().count("<tr>") == 1 + 20
    assert "the first 20 of 25 tags" in run._repr_html_()


def test_malicious_names_are_text_in_html_and_cannot_move_the_cursor(tmp_path):
    tag = "<script>alert(1)</script>\x1b[2J\u202e&"
    write(tmp_path / "<img src=x onerror=y>", scalars(tag, (0, 1.0)))
    runs = rf.open(tmp_path)
    (run,) = runs.values()
    for page in (runs._repr_html_(), run._repr_html_()):
        assert "<script" not in page
        assert "<img" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page
    assert "&lt;script&gt;" in run._repr_html_()
    assert "&lt;img src=x" in runs._repr_html_()
    assert "\x1b" not in repr(run)


def test_bar_is_off_if_stderr_is_not_a_terminal(tmp_path, capsys):
    write(tmp_path, scalars("loss", (0, 1.0)))
    rf.open(tmp_path).scalars()
    assert capsys.readouterr() == ("", "")


def test_bar_is_shown_on_stderr_on_request(tmp_path, capsys):
    write(tmp_path, scalars("loss", (0, 1.0)))
    runs = rf.open(tmp_path, progress=True)
    runs.scalars()
    shown = capsys.readouterr()
    assert "Reading" in shown.err
    assert shown.out == ""
    runs.scalars()
    assert capsys.readouterr().err == ""


def test_bar_is_also_shown_for_a_single_run(tmp_path, capsys):
    write(tmp_path, scalars("loss", (0, 1.0)))
    rf.open(tmp_path, progress=True)["."]["loss"]
    assert "Reading" in capsys.readouterr().err


def in_terminal(code: str, *arguments: str) -> str:
    """Return the output of a Python program in a new terminal."""
    leader, follower = pty.openpty()
    # A terminal without a size has no room for a bar.
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=follower, stderr=follower
    ) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # Linux raises this when the other end is closed
                break
            if not piece:
                break
            shown += piece
    os.close(leader)
    assert process.returncode == 0, shown.decode()
    return shown.decode()


@pytest.mark.parametrize(("delay", "is_shown"), [(0, True), (60, False)])
def test_bar_appears_in_a_terminal_once_a_load_is_long(tmp_path, delay, is_shown):
    write(tmp_path, scalars("loss", (0, 1.0)))
    code = (
        "import sys, runfold as rf; from runfold import _progress\n"
        "_progress._DELAY = float(sys.argv[2]); rf.open(sys.argv[1]).scalars()"
    )
    assert ("Reading" in in_terminal(code, str(tmp_path), str(delay))) is is_shown


class NotebookBar:
    """Replaces tqdm.notebook's bar, which needs a running notebook."""

    made: ClassVar[list[dict[str, object]]] = []

    def __init__(self, **options: object) -> None:
        self.made.append(options)

    def __enter__(self) -> "NotebookBar":
        return self

    def __exit__(self, *_: object) -> None: ...

    def update(self, count: int) -> None: ...


def test_notebook_gets_the_notebook_bar(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setattr(progress, "find_spec", lambda name: name == "ipywidgets")
    notebook = types.ModuleType("tqdm.notebook")
    notebook.tqdm = NotebookBar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm.notebook", notebook)
    monkeypatch.setattr(NotebookBar, "made", [])
    size = write(tmp_path, scalars("loss", (0, 1.0))).stat().st_size
    rf.open(tmp_path).scalars()
    (options,) = NotebookBar.made
    assert (options["total"], options["desc"]) == (size, "Reading")
    assert capsys.readouterr().err == ""


def test_notebook_without_widgets_gets_a_text_bar(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    write(tmp_path, scalars("loss", (0, 1.0)))
    rf.open(tmp_path, progress=True).scalars()
    assert "Reading" in capsys.readouterr().err


def test_program_without_stderr_reads_without_a_bar(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    write(tmp_path, scalars("loss", (0, 1.0)))
    assert len(rf.open(tmp_path).scalars()) == 1
