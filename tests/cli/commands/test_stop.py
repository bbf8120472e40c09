"""`runfold stop`: runs found by name, id, beginning and folder, asked, waited for and told."""

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


def said(capsys, *argv):
    """The status, the output and the notes, apart from the one on the default logdir."""
    status = main(["stop", *argv])
    out, err = capsys.readouterr()
    return (
        status,
        out,
        err.removeprefix("Reading the folder 'runs'. Use --logdir to read another.\n"),
    )


def actions():
    return [
        (one["action"], one["outcome"], os.path.basename(one["target"])) for one in read_actions()
    ]


@pytest.mark.parametrize(
    "text", ["sweep/seed-1", "1", "sw", "runs/sweep/seed-1", "./runs/sweep/seed-1"]
)
def test_a_run_is_found_by_name_id_beginning_or_folder(logdir, capsys, text):
    with training(logdir / "sweep" / "seed-1") as process:
        status, out, err = said(capsys, text, "--reason", "the loss diverged", "--grace", "60")
        process.wait(60)
    name = text if text.endswith("runs/sweep/seed-1") else "sweep/seed-1"
    assert (status, out) == (0, f"{name}: stopped\n")
    assert err.startswith(f"{name}: asked to stop.\n")
    assert err.count("ended after") == 1
    assert actions() == [("stop", "asked", "seed-1")]
    (action,) = read_actions()
    assert (action["how"], action["reason"]) == ("command", "the loss diverged")
    assert action["target"] == str(logdir / "sweep" / "seed-1")


def test_several_runs_stop_at_once_and_programs_can_read_how(logdir, capsys):
    with training(logdir / "a"), training(logdir / "b"):
        status, out, err = said(capsys, "a", "b", "runs/a", "--logdir", "runs", "--json")
        assert (status, out) == (2, "")  # one is not there, and so none is asked
        assert "No trial 'runs/a'" in err
        assert actions() == []
        status, out, _ = said(capsys, "a", "b", "a", "--json")
    told = json.loads(out)
    assert [(one["run"], one["stage"], one["state"]) for one in told] == [
        ("a", "ended", "stopped"),
        ("b", "ended", "stopped"),
    ]
    assert [one["request"]["reason"] for one in told] == ["", ""]
    assert status == 0


def test_a_run_that_goes_on_is_told_and_then_killed(logdir, capsys):
    with training(logdir / "a", STUBBORN) as process:
        status, out, err = said(capsys, "a", "--no-wait", "--reason", "first")
        assert (status, out, err) == (0, "", "a: asked to stop.\n")
        status, out, err = said(capsys, "a", "--grace", "0")
        assert (status, out) == (1, "")
        assert "goes on after 0.0 s. Wait longer with --grace, or end it with --kill." in err
        status, out, err = said(capsys, "a", "--grace", "0", "--kill", "--reason", "second")
        process.wait(60)
    assert (status, out) == (0, "a: killed\n")
    assert "sent SIGTERM" in err
    assert actions() == [("stop", "asked", "a"), ("kill", "terminated", "a")]
    assert [one["reason"] for one in read_actions()] == ["first", "second"]


def test_a_request_made_before_is_told_with_who_and_why(logdir, capsys):
    # Stopped, so that it cannot see the request before the second one asks.
    with training(logdir / "a", DEAF) as process:
        process.send_signal(signal.SIGSTOP)
        said(capsys, "a", "--no-wait", "--reason", "too\nslow")
        _, _, err = said(capsys, "a", "--no-wait")
    assert err.startswith("a: was already asked to stop by ")
    assert err.endswith(" (too\\nslow).\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "RUN"),
        (["don"], "it is finished. There is nothing to stop."),
        (["xyz"], "No trial 'xyz'."),
        (["7"], "There are 1 (done)."),
        (["./nothing"], "is no folder; there is no run to stop."),
        (["done", "--logdir", "nowhere"], "No logdir 'nowhere'"),
        (["done", "--grace", "-1"], "a number of seconds from 0 on is meant, not '-1'"),
        (["done", "--grace", "soon"], "a number of seconds from 0 on is meant, not 'soon'"),
        (["done", "--kill", "--no-wait"], "leave out --no-wait, or --kill."),
    ],
)
def test_mistakes_end_in_one_line(logdir, capsys, argv, message):
    with rf.track(logdir / "done", code=False, system=False):
        pass
    status, out, err = said(capsys, *argv)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_refusal_is_in_the_audit_log(logdir, capsys):
    with rf.track(logdir / "done", code=False, system=False):
        pass
    said(capsys, "done")
    (action,) = read_actions()
    assert (action["action"], action["outcome"]) == ("stop", "refused")
    assert "it is finished" in action["why"]


@pytest.mark.fault(74)
def test_what_a_heartbeat_says_cannot_reach_the_terminal_raw(logdir, capsys):
    evil = "\x1b]0;owned\x07\x1b[2J"
    with rf.track(logdir / "a", code=False, system=False):
        pass
    place = logdir / "a" / ".runfold" / "heartbeat"
    beat = json.loads(place.read_text())
    place.write_text(json.dumps({**beat, "state": evil}))
    status, out, err = said(capsys, "a")
    assert (status, out) == (2, "")
    assert "it is \\x1b]0;owned\\x07\\x1b[2J." in err
    place.write_text(json.dumps({**beat, "state": "running", "host": evil, "pids": "elsewhere"}))
    status, out, err = said(capsys, "a", "--kill")
    assert (status, out) == (2, "")
    assert "It runs on \\x1b]0;owned\\x07\\x1b[2J." in err
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
