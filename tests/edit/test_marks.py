"""Marked events in an edit: cut and shifted with the curves, and never thinned."""

from pathlib import Path

import pytest
from helpers.edits import log_steps, shown, steps
from helpers.serving import open_client

import runfold as rf
from runfold._cli import main

QUIET = {"code": False, "system": False}
MARK = "runfold/mark"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with rf.track("log/a", hparams={"lr": 0.1}, **QUIET) as run:
        for step in range(20):
            run.log({"loss": 1.0}, step=step)
            if step in (3, 7, 8, 13):
                run.mark(f"at {step}")
    return tmp_path / "log"


def marks(logdir: str, run: str = "a") -> list[tuple[int, str]]:
    return [(mark.step, mark.text) for mark in rf.open(logdir)[run].marks]


@pytest.mark.parametrize(
    ("options", "curve", "expected"),
    [
        (["--shift-steps", "100"], range(100, 120), {3: 103, 7: 107, 8: 108, 13: 113}),
        (["--steps", "5:10"], range(5, 10), {7: 7, 8: 8}),
        (["--cut-steps", ":8"], range(8, 20), {8: 8, 13: 13}),
        (["--every", "10"], [0, 10, 19], {3: 3, 7: 7, 8: 8, 13: 13}),
        (
            ["--steps", "5:", "--every", "5", "--shift-steps", "-5"],
            [0, 5, 10, 14],
            {7: 2, 8: 3, 13: 8},
        ),
        (["--tags", "loss", "--shift-steps", "9"], range(9, 29), {3: 3, 7: 7, 8: 8, 13: 13}),
        (["--tags", MARK, "--shift-steps", "9"], range(20), {3: 12, 7: 16, 8: 17, 13: 22}),
        (["--keep-tags", "l*"], range(20), {3: 3, 7: 7, 8: 8, 13: 13}),
    ],
)
def test_marks_follow_the_rules_for_steps(log, options, curve, expected):
    assert main(["edit", "log", *options, "-o", "new"]) == 0
    assert marks("new") == [(new, f"at {old}") for old, new in expected.items()]
    assert steps(Path("new/a"), MARK) == list(expected.values())
    assert rf.open("new")["a"]["loss"].steps.tolist() == list(curve)
    assert rf.open("new")["a"].config == {"lr": 0.1}
    marks_shown = open_client(Path("new")).get("/api/marks").json()["marks"]
    assert [mark["step"] for mark in marks_shown] == list(expected.values())
    assert rf.open("new").problems().empty


def test_a_merge_that_cuts_steps_removes_their_marks(log):
    log_steps(log / "b", "loss", first=8, end=30, start=4e9)
    for overlap in ("cut", "marker"):
        options = ["--merge", "?=job", "--overlap", overlap, "-o", overlap]
        assert main(["edit", "log", *options]) == 0
        assert marks(overlap, "job") == [(3, "at 3"), (7, "at 7")]
        assert shown(Path(overlap), "job", "loss") == [list(range(30))] * 4


def test_a_shift_that_overflows_a_mark_is_rejected(log, capsys):
    with rf.track("log/far", **QUIET) as run:
        run.mark("the end", step=(1 << 63) - 1)
    assert main(["edit", "log", "--shift-steps", "1", "-o", "new"]) == 2
    assert f"steps of tag '{MARK}' shifted by 1 would not fit" in capsys.readouterr().err
    assert not Path("new").exists()
