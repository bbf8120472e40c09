"""The hparams session of a run: started once, and ended with the correct status."""

import multiprocessing
import subprocess
import sys
import time

import pytest
from helpers.hparams_page import read, settings, shown
from helpers.tensorboard_readers import READERS, provider

import runfold as rf
from runfold import SummaryWriter


def statuses(folder):
    return rf.open(folder).sessions()["status"].tolist()


def run_script(body, folder):
    code = f"import sys\nfrom runfold import SummaryWriter\nfolder = sys.argv[1]\n{body}"
    return subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True).returncode


def test_a_session_has_no_end_while_the_run_continues(tmp_path):
    writer = SummaryWriter(tmp_path, hparams={"lr": 0.1})
    writer.flush()
    assert statuses(tmp_path) == [""]
    writer.close()
    assert statuses(tmp_path) == ["success"]


def test_a_session_lasts_as_long_as_the_writer(tmp_path):
    before = time.time()
    with SummaryWriter(tmp_path, hparams={"lr": 0.1}):
        pass
    (session,) = rf.open(tmp_path).sessions().to_dict("records")
    assert before <= session["start_time"] <= session["end_time"] <= time.time()


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, SystemExit("no"), SystemExit(2)])
def test_a_block_that_raises_has_failed(raised, tmp_path):
    with pytest.raises(BaseException), SummaryWriter(tmp_path, hparams={"lr": 0.1}):  # noqa: B017, PT011
        raise raised
    assert statuses(tmp_path) == ["failure"]


@pytest.mark.parametrize("code", [None, 0])
def test_a_block_that_exits_with_status_0_has_not_failed(code, tmp_path):
    with pytest.raises(SystemExit), SummaryWriter(tmp_path, hparams={"lr": 0.1}):
        raise SystemExit(code)
    assert statuses(tmp_path) == ["success"]


def test_a_writer_closed_in_a_finally_block_has_failed(tmp_path):
    def train():
        writer = SummaryWriter(tmp_path, hparams={"lr": 0.1})
        try:
            return 1 / 0
        finally:
            writer.close()

    with pytest.raises(ZeroDivisionError):
        train()
    assert statuses(tmp_path) == ["failure"]


def test_a_second_attempt_does_not_fail_because_of_the_first(tmp_path):
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        writer = SummaryWriter(tmp_path / "closed", hparams={"lr": 0.1})
        writer.close()
        with SummaryWriter(tmp_path / "block", hparams={"lr": 0.1}):
            pass
    assert statuses(tmp_path) == ["success", "success"]


@pytest.mark.parametrize(
    ("end", "status"),
    [("", "success"), ("1 / 0", "failure"), ("raise KeyboardInterrupt", "failure")],
)
def test_a_program_that_never_closes_its_writer_ends_the_session(end, status, tmp_path):
    body = f"writer = SummaryWriter(folder, hparams=dict(lr=0.1))\n{end}"
    assert (run_script(body, tmp_path) == 0) == (status == "success")
    assert statuses(tmp_path) == [status]


def test_a_killed_program_leaves_the_session_open(tmp_path):
    body = "import os\nwriter = SummaryWriter(folder, hparams=dict(lr=0.1))\nwriter.flush()\n"
    assert run_script(f"{body}os._exit(3)", tmp_path) == 3
    assert statuses(tmp_path) == [""]


def log_and_close(writer):
    writer.add_scalar("of the worker", 0.5, 1)
    writer.close()


def test_a_forked_worker_does_not_end_the_session(tmp_path):
    writer = SummaryWriter(tmp_path, hparams={"lr": 0.1})
    writer.flush()
    worker = multiprocessing.get_context("fork").Process(target=log_and_close, args=[writer])
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert "of the worker" in rf.open(tmp_path).tags["scalar"]
    assert statuses(tmp_path) == [""]
    writer.close()
    assert statuses(tmp_path) == ["success"]


def test_a_run_without_hparams_has_no_session(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 1)
    assert rf.open(tmp_path).sessions().empty


@pytest.mark.parametrize("reader", READERS)
def test_metrics_can_be_named_after_the_hparams(reader, tmp_path):
    with SummaryWriter(tmp_path, hparams={"lr": 0.1}) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_scalar("acc", 0.5, 1)
        writer.add_hparams({"lr": 0.1}, {"acc": 0.75}, global_step=2)
    with provider(reader, tmp_path) as source:
        plan, sessions = shown(source)
    assert [info.name.tag for info in plan.metric_infos] == ["acc"]
    assert [metric.value for metric in sessions["."].metric_values] == [0.75]
    assert statuses(tmp_path) == ["success"]


@pytest.mark.parametrize("reader", READERS)
def test_more_hparams_extend_the_run_with_a_warning(reader, tmp_path):
    with SummaryWriter(tmp_path, hparams={"lr": 0.1, "bias": True}) as writer:
        with pytest.warns(UserWarning, match=r"TensorBoard will not show depth, width:") as warned:
            writer.add_hparams({"lr": 0.1, "depth": 3, "width": 2})
        writer.add_hparams({"lr": 0.1, "depth": 3})
    assert [warning.filename for warning in warned] == [__file__]
    assert read(tmp_path) == {"lr": 0.1, "bias": True, "depth": 3.0, "width": 2.0}
    with provider(reader, tmp_path) as source:
        _, sessions = shown(source)
    assert {run: settings(session) for run, session in sessions.items()} == {
        ".": {"lr": 0.1, "bias": True}
    }


@pytest.mark.parametrize(("raised", "status"), [(None, 1), (ValueError("x"), 2)])
@pytest.mark.parametrize("reader", READERS)
def test_the_page_shows_how_a_run_ended(reader, raised, status, tmp_path):
    try:
        with SummaryWriter(tmp_path, hparams={"lr": 0.1}):
            if raised is not None:
                raise raised
    except ValueError:
        pass
    with provider(reader, tmp_path) as source:
        _, sessions = shown(source)
    assert sessions["."].sessions[0].status == status


@pytest.mark.parametrize("reader", READERS)
def test_a_resumed_run_has_one_session_as_in_tensorboard(reader, tmp_path):
    with SummaryWriter(tmp_path / "run", hparams={"lr": 0.1}):
        pass
    resumed = SummaryWriter(tmp_path / "run", hparams={"lr": 0.2})
    resumed.flush()
    assert statuses(tmp_path) == [""]
    resumed.close()
    (session,) = rf.open(tmp_path).sessions().to_dict("records")
    assert session["status"] == "success"
    assert session["start_time"] == resumed._hparams.trials.own.start_time
    assert read(tmp_path) == {"lr": 0.2}
    with provider(reader, tmp_path) as source:
        _, groups = shown(source)
    assert [len(group.sessions) for group in groups.values()] == [1]
