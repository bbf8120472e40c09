"""Marks: read back by the library and the server, and shown by TensorBoard."""

import pytest
from helpers.logs import values, write
from helpers.serving import open_client
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

import runfold as rf
from runfold._events.value_encoding import text
from runfold._serve.api import marks
from runfold.errors import CannotLog

QUIET = {"system": False, "code": False}


def read_marks(run):
    return [(mark.step, mark.text) for mark in run.marks]


def test_marks_are_read_as_they_were_set(tmp_path):
    with rf.track(tmp_path, **QUIET) as run:
        run.log({"loss": 1.0}, step=7)
        run.mark("lower lr")
        run.mark("unfreeze\n`all` layers", step=12)
    (read,) = rf.open(tmp_path).values()
    assert read_marks(read) == [(7, "lower lr"), (12, "unfreeze\n`all` layers")]
    times = [mark.wall_time for mark in read.marks]
    assert times == sorted(times)
    assert times[0] >= read["loss"].wall_times[0]


def test_tensorboard_shows_a_mark_as_text(tmp_path):
    with rf.track(tmp_path, **QUIET) as run:
        run.mark("lower lr", step=7)
    (event,) = EventAccumulator(str(tmp_path)).Reload().Tensors("runfold/mark")
    assert event.step == 7
    assert b"lower lr" in tensor_util.make_ndarray(event.tensor_proto).item()


def test_a_mark_is_hidden_with_the_steps_that_a_restart_discards(tmp_path):
    with rf.track(tmp_path, **QUIET) as run:
        run.mark("early", step=50)
        run.log({"loss": 1.0}, step=150)
        run.mark("late")
    with rf.track(tmp_path, resume=True, **QUIET) as run:
        # This is the first explicit step, so the run continues from here.
        run.mark("again", step=100)
        run.log({"loss": 1.0}, step=100)
    assert read_marks(rf.open(tmp_path)["."]) == [(50, "early"), (100, "again")]
    assert len(rf.open(tmp_path, restarts="keep")["."].marks) == 3


def test_an_invalid_step_raises(tmp_path):
    with (
        rf.track(tmp_path, **QUIET, on_error="raise") as run,
        pytest.raises(CannotLog, match="step"),
    ):
        run.mark("lower lr", step="soon")


def test_an_invalid_mark_is_reported_and_left_out(tmp_path):
    write(tmp_path / "a", values(text("runfold/mark", "no block"), step=3))
    run = rf.open(tmp_path)["a"]
    assert run.marks == []
    assert "runfold/mark" in run.problems()["message"].item()


def test_the_server_returns_the_marks_of_each_run(tmp_path):
    for name in ("a", "b"):
        with rf.track(tmp_path / name, **QUIET) as run:
            run.log({"loss": 1.0}, step=0)
            run.mark(f"{name} halves", step=5)
    client = open_client(tmp_path)
    answer = client.get("/api/marks").json()
    assert answer["leftOut"] == 0
    for found, (name, read) in zip(answer["marks"], rf.open(tmp_path).items(), strict=True):
        (mark,) = read.marks
        assert found == {
            "run": name,
            "step": 5,
            "wallTime": mark.wall_time,
            "relative": mark.wall_time - read._log.wall_time_range[0],
            "text": f"{name} halves",
        }
    (own,) = client.get("/api/run", params={"run": "b"}).json()["marks"]
    assert (own["step"], own["text"]) == (5, "b halves")


def test_the_number_of_marks_is_limited_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(marks, "MOST", 2)
    with rf.track(tmp_path, **QUIET) as run:
        for step in range(5):
            run.mark("x" * 1000, step)
    answer = open_client(tmp_path).get("/api/marks").json()
    assert [(mark["step"], len(mark["text"])) for mark in answer["marks"]] == [(0, 500), (1, 500)]
    assert answer["leftOut"] == 3


def test_marks_and_text_of_a_tracked_run_contain_no_secrets(tmp_path):
    token = "ghp_" + "a1B2" * 9
    with rf.track(tmp_path, **QUIET) as run:
        run.mark(f"pushed with {token}")
        run.add_hparams({"lr": 0.1, "db_password": "hunter2"}, {"loss": 1.0})
        run.add_text("password", "hunter2")
        run.add_text("note", f"password=hunter2, {token}, token: 50256")
    (read,) = rf.open(tmp_path).values()
    assert [mark.text for mark in read.marks] == ["pushed with ***"]
    hparams = read.hparams()
    assert dict(zip(hparams["hparam"], hparams["value"], strict=True)) == {
        "lr": 0.1,
        "db_password": "***",
    }
    assert read.text(tags="password/*")["text"].tolist() == ["***"]
    assert read.text(tags="note/*")["text"].tolist() == ["password=***, ***, token: 50256"]
    with rf.SummaryWriter(tmp_path / "plain") as writer:
        writer.add_text("note", token)  # stores the same bytes as torch's writer
    assert rf.open(tmp_path / "plain").text()["text"].tolist() == [token]
