"""`runfold stop`: finding runs, requesting the stop, waiting and reporting."""

import json
import os
import signal

import pytest
from helpers.trainings import DEAF, STUBBORN, training

import runfold as rf
from runfold._cli import main
from runfold._story.audit_log import read_actions


@pytest.fixture
def logdir(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def stop(capsys, *argv):
    """Return the status, the output and the notes, without the note about the default logdir."""
    status = main(["stop", *argv])
    out, err = capsys.readouterr()
    return (
        status,
        out,
        err.removeprefix("Reading the folder 'runs'. Use --logdir to read another.\n"),
    )


def actions():
    return [
        (action["action"], action["outcome"], os.path.basename(action["target"]))
        for action in read_actions()
    ]


@pytest.mark.parametrize(
    "text", ["sweep/seed-1", "1", "sw", "runs/sweep/seed-1", "./runs/sweep/seed-1"]
)
def test_a_run_is_found_by_name_id_prefix_or_folder(logdir, capsys, text):
    with training(logdir / "sweep" / "seed-1") as process:
        status, out, err = stop(capsys, text, "--reason", "the loss diverged", "--grace", "60")
        process.wait(60)
    name = text if text.endswith("runs/sweep/seed-1") else "sweep/seed-1"
    assert (status, out) == (0, f"{name}: stopped\n")
    assert err.startswith(f"{name}: asked to stop.\n")
    assert err.count("ended after") == 1
    assert actions() == [("stop", "asked", "seed-1")]
    (action,) = read_actions()
    assert (action["how"], action["reason"]) == ("command", "the loss diverged")
    assert action["target"] == str(logdir / "sweep" / "seed-1")


def test_several_runs_stop_at_once_with_json(logdir, capsys):
    with training(logdir / "a"), training(logdir / "b"):
        status, out, err = stop(capsys, "a", "b", "runs/a", "--logdir", "runs", "--json")
        assert (status, out) == (2, "")  # one run does not exist, so no request is sent
        assert "No trial 'runs/a'" in err
        assert actions() == []
        status, out, _ = stop(capsys, "a", "b", "a", "--json")
    results = json.loads(out)
    assert [(result["run"], result["stage"], result["state"]) for result in results] == [
        ("a", "ended", "stopped"),
        ("b", "ended", "stopped"),
    ]
    assert [result["request"]["reason"] for result in results] == ["", ""]
    assert status == 0


def test_a_run_that_continues_is_reported_and_then_killed(logdir, capsys):
    with training(logdir / "a", STUBBORN) as process:
        status, out, err = stop(capsys, "a", "--no-wait", "--reason", "first")
        assert (status, out, err) == (0, "", "a: asked to stop.\n")
        status, out, err = stop(capsys, "a", "--grace", "0")
        assert (status, out) == (1, "")
        assert (
            "is still running after 0.0 s. Wait longer with --grace, or end it with --kill." in err
        )
        status, out, err = stop(capsys, "a", "--grace", "0", "--kill", "--reason", "second")
        process.wait(60)
    assert (status, out) == (0, "a: killed\n")
    assert "sent SIGTERM" in err
    assert actions() == [("stop", "asked", "a"), ("kill", "terminated", "a")]
    assert [action["reason"] for action in read_actions()] == ["first", "second"]


def test_an_earlier_request_is_reported_with_user_and_reason(logdir, capsys):
    # The process is paused, so that it cannot see the first request before the second is sent.
    with training(logdir / "a", DEAF) as process:
        process.send_signal(signal.SIGSTOP)
        stop(capsys, "a", "--no-wait", "--reason", "too\nslow")
        _, _, err = stop(capsys, "a", "--no-wait")
    assert err.startswith("a: was already asked to stop by ")
    assert err.endswith(" (too\\nslow).\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "RUN"),
        (["don"], "its state is finished. There is nothing to stop."),
        (["xyz"], "No trial 'xyz'."),
        (["7"], "Available: 1 (done)."),
        (["./nothing"], "is not a folder; there is no run to stop."),
        (["done", "--logdir", "nowhere"], "No logdir 'nowhere'"),
        (["done", "--grace", "-1"], "expected a non-negative number of seconds, got '-1'"),
        (["done", "--grace", "soon"], "expected a non-negative number of seconds, got 'soon'"),
        (["done", "--kill", "--no-wait"], "Remove --no-wait or --kill."),
    ],
)
def test_errors_are_one_line(logdir, capsys, argv, message):
    with rf.track(logdir / "done", code=False, system=False):
        pass
    status, out, err = stop(capsys, *argv)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_refusal_is_in_the_audit_log(logdir, capsys):
    with rf.track(logdir / "done", code=False, system=False):
        pass
    stop(capsys, "done")
    (action,) = read_actions()
    assert (action["action"], action["outcome"]) == ("stop", "refused")
    assert "its state is finished" in action["why"]


@pytest.mark.fault(74)
def test_text_from_a_heartbeat_is_escaped(logdir, capsys):
    evil = "\x1b]0;owned\x07\x1b[2J"
    with rf.track(logdir / "a", code=False, system=False):
        pass
    place = logdir / "a" / ".runfold" / "heartbeat"
    beat = json.loads(place.read_text())
    place.write_text(json.dumps({**beat, "state": evil}))
    status, out, err = stop(capsys, "a")
    assert (status, out) == (2, "")
    assert "its state is \\x1b]0;owned\\x07\\x1b[2J." in err
    place.write_text(json.dumps({**beat, "state": "running", "host": evil, "pids": "elsewhere"}))
    status, out, err = stop(capsys, "a", "--kill")
    assert (status, out) == (2, "")
    assert "The run is on \\x1b]0;owned\\x07\\x1b[2J." in err
    assert "\x1b" not in err


def test_a_run_that_does_not_exist_leaves_no_trace(tmp_path, monkeypatch, capsys):
    run = tmp_path / "runs" / "seed-1"
    run.mkdir(parents=True)
    (run / "events.out.tfevents.1").write_bytes(b"")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["stop", "nope"]) == 2
    assert "\nNo trial 'nope'." in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
