"""`runfold experiments`, `runfold trials`, and their records in the audit log."""

import io
import json
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write

from runfold._cli import main
from runfold._conventions import HEARTBEAT
from runfold._story.audit_log import read_actions
from runfold._story.side_files import write_aside


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("big/seed-1", "big/seed-2", "alone"):
        write(tmp_path / "runs" / name, losses(1.0))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def run(capsys, *argv: str) -> tuple[int, str, str]:
    status = main(list(argv))
    out, err = capsys.readouterr()
    return status, out, err


def test_the_default_action_lists_experiments_in_runs(logdir, capsys):
    status, out, _ = run(capsys, "experiments")
    assert status == 0
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["id", "experiment", "trials"],
        ["1", "alone", "1"],
        ["2", "big", "2"],
    ]
    assert run(capsys, "experiments", "list", "--logdir", str(logdir)) == (0, out, "")


def test_archived_experiments_are_hidden_by_default(logdir, capsys):
    assert run(capsys, "experiments", "archive", "alone")[0] == 0
    _, out, err = run(capsys, "experiments")
    assert "alone" not in out
    assert "--all lists 1 more." in err
    assert "alone (archived)" in run(capsys, "experiments", "--all")[1]
    assert run(capsys, "experiments", "archive", "--undo", "1")[0] == 0
    assert "alone" in run(capsys, "experiments")[1]


def test_labels_and_notes_are_shown(logdir, capsys):
    assert run(capsys, "experiments", "label", "big", "good", "v2")[1] == "good, v2\n"
    assert run(capsys, "experiments", "label", "big", "--remove", "v2")[1] == "good\n"
    _, out, err = run(capsys, "experiments", "--label", "good")
    assert [line.split()[1] for line in out.splitlines()] == ["experiment", "big"]
    assert "--all" not in err  # --all would list no others with this label
    assert run(capsys, "experiments", "note", "big", "as in the paper")[0] == 0
    assert run(capsys, "experiments", "note", "2")[1] == "as in the paper\n"
    _, out, _ = run(capsys, "experiments", "show", "big")
    assert "Experiment 2: big" in out
    assert "Labels: good" in out
    assert "big/seed-2" in out
    (experiment,) = json.loads(run(capsys, "experiments", "--label", "good", "--json")[1])
    assert (experiment["name"], experiment["note"], experiment["labels"]) == (
        "big",
        "as in the paper",
        ["good"],
    )


def test_trials_are_listed_with_their_ids(logdir, capsys):
    _, out, _ = run(capsys, "trials", "big")
    assert [line.split()[:2] for line in out.splitlines()][1:] == [
        ["2", "big/seed-1"],
        ["3", "big/seed-2"],
    ]
    assert [trial["id"] for trial in json.loads(run(capsys, "trials", "b", "--json")[1])] == [2, 3]


def test_delete_needs_confirmation_and_is_in_the_audit_log(logdir, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    status, _, err = run(capsys, "experiments", "delete", "big")
    assert (status, "Pass --yes to confirm." in err) == (2, True)
    assert (logdir / "big").exists()
    assert run(capsys, "experiments", "delete", "big", "--yes")[0] == 0
    assert not (logdir / "big").exists()
    (action,) = read_actions()
    assert (action["action"], action["how"]) == ("experiment delete", "command")
    assert action["target"] == str(logdir / "big")


def test_nothing_is_deleted_if_one_experiment_cannot_be(logdir, capsys):
    write_aside(str(logdir / "big" / "seed-1"), HEARTBEAT, {"state": "running", "seconds": 10.0})
    status, _, err = run(capsys, "experiments", "delete", "--yes", "alone", "1", "big")
    assert (status, "are being written to" in err, "Nothing was deleted" in err) == (2, True, True)
    assert (logdir / "alone").exists()
    assert run(capsys, "experiments", "delete", "--yes", "alone", "1")[0] == 0
    assert not (logdir / "alone").exists()


DEFAULT = "Reading the folder 'runs'. Use --logdir to read another.\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["experiments", "lst"], "Did you mean 'list'?"),
        (["experiments", "show", "bgi"], "Did you mean 'big'?"),
        (["experiments", "show", "9"], "Available: 1 (alone), 2 (big)."),
        (["experiments", "--logdir", "nowhere"], "nowhere"),
        (["experiments", "--logdir", ""], "--logdir is empty"),
        (["experiments", "label", "big", "--remove", "x"], "'x'. The experiment has no labels."),
        (["trials"], "EXPERIMENT"),
    ],
)
def test_errors_are_one_line(logdir, capsys, argv, message):
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.removeprefix(DEFAULT).splitlines()) == 1


@pytest.mark.filterwarnings("always::RuntimeWarning")
@pytest.mark.parametrize("command", ["experiments list", "trials big"])
def test_an_id_of_thousands_of_digits_is_an_error(logdir, capsys, command):
    index = logdir / ".runfold" / "experiments.json"
    index.parent.mkdir()
    number = "9" * 4300
    entry = f'{{"id": {number}, "labels": [], "note": "", "is_archived": false}}'
    index.write_text(f'{{"experiments": {{"gone": {entry}}}, "trials": {{"gone": {number}}}}}')
    status, out, err = run(capsys, *command.split(), "--logdir", str(logdir))
    assert (status, "big" in out) == (0, True)
    assert "experiments.json could not be read" in err
