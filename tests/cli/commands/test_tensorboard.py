"""`runfold tensorboard`: starting, listing, logging and ending instances."""

import csv
import io
import json
import os
import shlex
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from helpers.boards import until, write_losses
from helpers.cli_runs import RUNFOLD
from helpers.services import (
    known,
    listed,
    logged_in,
    own_state,
    read_link,
    say,
    start,
    until_state,
    write_experiments,
)

from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Store
from runfold._story.audit_log import read_actions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with own_state(tmp_path_factory.mktemp("boards")) as folder:
        write_experiments(folder / "runs", "big", "small", "other one, 'ü':")
        (folder / "runs" / "empty").mkdir()
        yield folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def detached(*argv: str) -> Sources:
    """Return what an instance would show, and end the instance before it starts."""
    status, out, err = say("start", "-d", *argv)
    assert status == 0, err
    say("kill", out.strip())
    return known(out.strip()).sources


def test_trials_with_their_own_experiment_narrow_the_selection(folder):
    logdir = str(folder / "runs")
    # big/seed-1 and -2 are trials 1 and 2; the trials of small are 5 and 6.
    assert detached("big", "small", "--trial-ids", "2") == Sources(
        (logdir,), ("big/seed-2",), ("small",)
    )
    assert detached("--trial-ids", "1", "small/seed-2") == Sources(
        (logdir,), ("big/seed-1", "small/seed-2")
    )


def test_experiments_are_specified_by_id_prefix_or_path(folder):
    logdir = str(folder / "runs")
    assert detached("1", "sm", "other one, 'ü':") == Sources(
        (logdir,), None, ("big", "small", "other one, 'ü':")
    )
    assert detached("runs/big/", "./runs/small") == Sources((f"{logdir}/big", f"{logdir}/small"))
    url = f"file://{logdir}"
    assert detached("1", "-t", "5", "--logdir", url) == Sources((url,), ("small/seed-1",), ("big",))
    assert detached("--logdir", url) == Sources((url,))
    assert detached() == Sources((logdir,))
    assert detached("--where", "last['loss'] > 1") == Sources((logdir,), where="last['loss'] > 1")


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        (["bg"], "Did you mean 'big'?"),
        (["7"], "Available: 1 (big), 2 (other one, 'ü':), 3 (small)."),
        (["9" * 5000], "Available: 1 (big)"),
        (["nope"], "Available: 1 (big)"),
        (["runs"], "write ./runs"),
        (["big/seed-1"], "--trial-ids"),
        (["--trial-ids", "big/seed-3"], "big/seed-2"),
        (["nowhere/at/all"], "no such folder"),
        (["big", "runs/small"], "Use only paths or only names."),
        (["runs/small", "-t", "1"], "--trial-ids works with --logdir"),
        (["--logdir", "nowhere"], "nowhere"),
        (["--logdir", "nope://bucket/runs"], "nope://bucket/runs"),
        (["nope://bucket/runs"], "nope://bucket/runs"),
        (["--where", "loss <"], "The condition is incomplete."),
        (["--config", "port=80"], "port is set by Runfold itself"),
        (["--config", "reload_interval"], "name=value"),
        (["--config-file", "gone.yaml"], "gone.yaml"),
        (["--max", "0"], "0 are live, and the limit is 0. End one with `runfold tensorboard kill"),
    ],
)
def test_error_is_one_line_and_starts_nothing(argv, part):
    before = listed("--all")
    status, out, err = say("start", *argv)
    assert (status, out, part in err) == (2, "", True), err
    assert listed("--all") == before


def test_instance_waits_shows_and_is_reused(folder):
    id, link = start("empty", "--config", "reload_interval=1", "--description", "to come")
    assert known(id).state == "WAITING"
    assert start("empty", "--config", "reload_interval=1")[0] == id
    write_losses(folder / "runs" / "empty" / "seed-1", 1, 2, 3)
    with logged_in(link) as client:
        assert until(lambda: client.get("data/runs").json()) == ["empty/seed-1"]
    until_state(id, "RUNNING")
    instance = listed()[id]
    assert (instance["description"], instance["sources"], instance["state"]) == (
        "to come",
        "empty",
        "RUNNING",
    )
    assert "TensorBoard is running." in say("logs", id)[1]
    (line,) = say("logs", id, "--tail", "1", "--json")[1].splitlines()
    record = json.loads(line)
    assert (record["id"], record["level"]) == (id, "info")
    assert known(id).created - 1 <= record["time"] <= time.time()
    assert len(say("logs", id, "--head", "2")[1].splitlines()) == 2
    assert "TensorBoard is running" not in say("logs", id, "--level", "error")[1]
    assert say("logs", id, "--level", "info", "--tail", "1")[1].count("\n") == 1
    assert "TensorBoard is running" in say("logs", id, "--timestamp-after", "2020-01-01")[1]
    assert say("logs", id, "--timestamp-before", "2020-01-02T10:00Z", "--level", "info")[1] == ""
    assert "expected a time" in say("logs", id, "--timestamp-after", "noon")[2]
    config = json.loads(say("config", instance["name"])[1])
    assert config["config"] == {"reload_interval": "1"}
    assert config["sources"]["experiments"] == ["empty"]
    assert "--reload_interval=1" in config["arguments"]
    again, other = read_link(say("open", id[:5], "--no-browser")[1])
    assert (again, other != link) == (id, True)
    assert say("kill", id) == (0, f"{id}\n", "")
    assert id not in listed()
    assert listed("--all")[id]["exit_status"] == 0
    actions = [
        (action["action"], action["how"]) for action in read_actions() if id in action["target"]
    ]
    assert actions == [("tensorboard start", "command"), ("tensorboard kill", "command")]
    status, _, err = say("open", id, "--no-browser")
    assert (status, "has ended" in err) == (1, True)


def test_browser_gets_the_link_in_a_file_that_only_the_user_can_read(folder, monkeypatch):
    opened = folder / "opened"
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    status, out, _ = say("start", "small")
    assert status == 0
    id, link = read_link(out)
    page = Path(until(lambda: opened.exists() and opened.read_text()).removeprefix("file://"))
    assert link.replace("&", "&amp;") in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert page.parent.stat().st_mode & 0o777 == 0o700
    say("kill", id)


def test_list_is_sorted_and_has_several_formats(tmp_path):
    with own_state(tmp_path):
        with closing(Store()) as store:
            made = [store.add(Sources((f"/logs/{name}",)), Options()) for name in "cab"]
            store.update(
                made[0].id,
                **{"state": "TERMINATED", "exit_status": 3, "ended": 1.0},
                message="It failed 5 times and will not be restarted. Its log ends:\nout of cheese",
            )
        first, second, third = (instance.id for instance in made)
        rows = list(csv.DictReader(io.StringIO(say("list", "--all", "--csv")[1])))
        assert [(row["id"], row["exit_status"]) for row in rows] == [
            *((first, "3"), (second, ""), (third, "")),
        ]
        assert say("list", "-q")[1].split() == [second, third]
        assert say("list", "-a", "-q", "--order-by", "desc")[1].split() == [third, second, first]
        by_sources = say("list", "-a", "-q", "--sort-by", "sources")
        assert by_sources[1].split() == [second, third, first]
        assert say("list", "-a", "-q", "--sort-by", "exit_status")[1].split()[-1] == first
        assert say("ls", "-a", "-q")[1].split() == [first, second, third]
        status, out, err = say("list")
        assert (status, err) == (0, "2 instances. --all also lists 1 ended instance.\n")
        assert [line.split()[0] for line in out.splitlines()] == ["id", second, third]
        _, out, err = say("list", "--all")
        assert "TERMINATED (3)" in out
        assert f"{made[0].name}: It failed 5 times and will not be restarted.\n" in err


def test_kill_of_an_unknown_instance_ends_none_unless_forced(folder):
    _, out, _ = say("start", "-d", "big")
    id = out.strip()
    status, _, err = say("kill", id, "nobody")
    assert (status, f"No TensorBoard instance 'nobody'. Available: {id} (" in err) == (2, True)
    assert known(id).wanted == "up"
    status, out, _ = say("kill", "--force", id, "nobody")
    assert (status, out) == (0, f"{id}\n")


def test_settings_are_read_from_a_file(folder):
    Path("board.yaml").write_text("reload_interval: 9\nidle_timeout: 2h\ndescription: mine\n")
    _, out, _ = say("start", "-d", "--config-file", "board.yaml", "--config", "reload_interval=8")
    instance = known(out.strip())
    say("kill", instance.id)
    assert dict(instance.options.flags) == {"reload_interval": "8"}
    assert (instance.options.idle_timeout, instance.description) == (7200, "mine")


@pytest.mark.without_coverage
def test_full_disk_is_reported_in_one_line(folder):
    command = [*RUNFOLD, "tensorboard", "start", "-d", "big", "--logdir", "runs"]
    full = f"ulimit -f 1; exec {shlex.join(command)}"
    say("list")
    done = subprocess.run(["bash", "-c", full], capture_output=True, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    # Deleting the store would lose the records of all running instances.
    assert "Move this file away" not in done.stderr


def test_list_without_instances(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path))
    status, out, err = say("list")
    assert (status, out, "There are no instances." in err) == (0, "", True)
