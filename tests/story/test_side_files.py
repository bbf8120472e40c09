"""Side files that are not small regular files: nothing waits for them or reads them."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.cli_runs import RUNFOLD
from helpers.serving import open_client

import runfold as rf
from runfold._cli import main
from runfold._conventions import PROJECTOR_CONFIG, RANK_ZERO
from runfold._events.kinds.embedding import read_config
from runfold._serve.api.saved_views import load_views, place_for
from runfold._serve.tensorboards.process_files import read_json, write_json
from runfold._state import make_private, state_folder
from runfold._storage.earlier_files import list_fetched
from runfold._storage.projector_files import named_files
from runfold._story.audit_log import read_actions, record_action
from runfold._story.stop_files import find_request
from runfold._story.stop_request import Control
from runfold._story.stopping import look_at_stop
from runfold.errors import CannotStop

KINDS = ["fifo", "/dev/zero", "/etc/hostname", "missing", "folder", "huge"]
NAMES = ["heartbeat", "stop.seen", RANK_ZERO, "claim", "fetched"]


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


def make_odd(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 33)
    else:
        path.symlink_to(kind)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A valid run, and one run per kind of odd file, whose side files are all of that kind."""
    runs = tmp_path / "runs"
    for kind in ["sound", *KINDS]:
        folder = runs / kind.strip("/").replace("/", "-")
        with rf.track(folder, hparams={"lr": 0.1}, code=False, system=False) as run:
            run.log({"loss": 1.0}, step=1)
        for name in NAMES if kind != "sound" else []:
            make_odd(folder / ".runfold" / name, kind)
    return runs


@pytest.mark.fault(66)
@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("ls", "runs"), 0),
        (("table", "runs"), 0),
        (("check", "runs"), 1),
        (("diff", "runs", "fifo", "dev-zero"), 0),
        (("report", "runs", "-o", "report.html"), 0),
        (("experiments", "--logdir", "runs"), 0),
        (("trials", "--logdir", "runs", "fifo"), 0),
        (("stop", "--logdir", "runs", "fifo"), 2),
        (("stop", "--logdir", "runs", "dev-zero", "huge"), 2),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("index", ["fifo", "/dev/zero"])
def test_no_command_waits_for_an_odd_side_file(logdir, command, status, index):
    (logdir / ".runfold").mkdir()
    make_odd(logdir / ".runfold" / "experiments.json", index)
    done = subprocess.run(
        [*RUNFOLD, *command],
        cwd=logdir.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr


@pytest.mark.fault(66)
def test_check_lists_every_odd_side_file(logdir, capsys):
    (logdir / "sound" / ".runfold" / "claim").touch()
    assert main(["check", "--json", str(logdir)]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    folders = [path for path in logdir.iterdir() if path.name != "sound"]
    assert len(folders) == len(KINDS)
    expected = {str(path / ".runfold" / name) for path in folders for name in NAMES}
    assert {
        problem["file"] for problem in problems if problem["code"] == "odd-side-file"
    } == expected
    assert len(problems) == len(expected)


@pytest.mark.fault(66)
def test_ls_counts_the_problems_that_check_lists(logdir, capsys):
    main(["check", "--json", str(logdir)])
    expected = json.loads(capsys.readouterr().out)["problems"]
    assert main(["ls", "--json", str(logdir)]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [problem for run in runs for problem in run["problems"]] == expected
    assert main(["ls", str(logdir)]) == 0
    out, notes = capsys.readouterr()
    problems = {line.split()[0]: line.split()[-1] for line in out.splitlines()[1:]}
    assert problems == {run["run"]: str(len(run["problems"]) or "-") for run in runs}
    assert f"Found {len(expected)} problems. `runfold check {logdir}` lists them." in notes


@pytest.mark.fault(66)
def test_check_lists_a_side_folder_that_is_a_link(tmp_path, capsys):
    with rf.track(tmp_path / "run", code=False, system=False) as run:
        run.log({"loss": 1.0}, step=1)
    (tmp_path / "run" / ".runfold").rename(tmp_path / "away")
    (tmp_path / "run" / ".runfold").symlink_to(tmp_path / "away")
    assert main(["check", str(tmp_path / "run")]) == 1
    out = capsys.readouterr().out
    assert ".runfold: a side file of the run that is not a small regular file. Ignored" in out


@pytest.mark.fault(66)
@pytest.mark.parametrize("kind", KINDS)
def test_stop_reports_that_the_heartbeat_cannot_be_read(tmp_path, kind):
    (tmp_path / ".runfold").mkdir()
    make_odd(tmp_path / ".runfold" / "heartbeat", kind)
    with pytest.raises(CannotStop, match="heartbeat of this run cannot be read"):
        look_at_stop(str(tmp_path))


@pytest.mark.fault(66)
def test_the_server_answers_while_every_side_file_is_odd(logdir):
    with open_client(logdir) as client, ThreadPoolExecutor(16) as pool:
        # More requests than the server has threads: a thread that waits would be lost.
        answers = list(pool.map(lambda _: client.get("/api/table").status_code, range(24)))
        assert answers == [200] * 24
        assert client.get("/api/status").status_code == 200


@pytest.mark.fault(66)
@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_stop_request_is_a_request_without_a_reason(tmp_path, kind):
    (tmp_path / ".runfold").mkdir()
    make_odd(tmp_path / ".runfold" / "stop", kind)
    sent = find_request(str(tmp_path), None)
    assert (sent is None) == (kind == "missing")
    assert sent is None or (sent.request.who, sent.request.reason) == ("", "")
    if kind != "folder":
        control = Control(str(tmp_path))
        control.start()  # removes requests for an earlier run
        control.stop()
        assert os.listdir(tmp_path / ".runfold") == []


@pytest.mark.fault(66)
@pytest.mark.parametrize("kind", KINDS)
def test_odd_side_files_are_treated_as_missing(tmp_path, kind):
    (tmp_path / ".runfold").mkdir()
    make_odd(tmp_path / ".runfold" / "fetched", kind)
    assert list_fetched(str(tmp_path), "s3://bucket/run") == frozenset()
    make_odd(tmp_path / PROJECTOR_CONFIG, kind)
    assert named_files(str(tmp_path), PROJECTOR_CONFIG) == set()
    with pytest.raises(ValueError, match=PROJECTOR_CONFIG):
        read_config(str(tmp_path / PROJECTOR_CONFIG))


@pytest.mark.fault(66)
@pytest.mark.parametrize("kind", KINDS)
def test_an_embedding_is_not_logged_over_an_odd_configuration(tmp_path, kind):
    make_odd(tmp_path / PROJECTOR_CONFIG, kind)
    with (
        rf.SummaryWriter(tmp_path) as writer,
        pytest.warns(UserWarning, match=r"cannot be read: .* The embedding was not logged"),
    ):
        writer.add_embedding([[1.0, 2.0], [3.0, 4.0]], tag="points")
    assert writer.skipped == {"points": 1}


@pytest.mark.fault(66)
@pytest.mark.parametrize("kind", KINDS)
def test_odd_files_in_the_state_folder_are_treated_as_missing(tmp_path, kind):
    folder = make_private(state_folder("views"))
    service = tmp_path / "service.json"
    write_json(str(service), {"port": 1})
    assert read_json(str(service)) == {"port": 1}
    make_odd(service, kind)
    assert read_json(str(service)) is None
    views = place_for(["runs"])
    empty = load_views(views)
    assert os.path.dirname(views) == folder
    make_odd(Path(views), kind)
    assert load_views(views) == empty
    record_action("delete", str(tmp_path), how="python")
    (action,) = read_actions()
    assert action["action"] == "delete"
    make_odd(Path(state_folder("audit.jsonl")), kind)
    assert read_actions() == []
