"""Further calls to add_hparams: trials, as shown by TensorBoard's page and read by Runfold."""

import math
import multiprocessing
import os
import threading
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tensorboardX
import torch
from helpers.hparams_page import settings, shown
from helpers.tensorboard_readers import READERS, provider
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from runfold import SummaryWriter
from runfold.errors import CannotLog


def trials(folder, reader="python"):
    """Return the hparams and metrics of each trial on TensorBoard's page, by name."""
    with provider(reader, folder) as source:
        _, groups = shown(source)
    return {
        name: (
            settings(session),
            {metric.name.tag: metric.value for metric in session.metric_values},
        )
        for name, session in groups.items()
    }


def columns(folder, reader):
    """Return the hparams and metrics that have a column on the page."""
    with provider(reader, folder) as source:
        plan, _ = shown(source)
    names = {info.name for info in plan.hparam_infos}
    return names, {info.name.tag for info in plan.metric_infos}


def hparams(folder):
    """Return the hparams of each run, as Runfold reads them."""
    found = rf.open(folder).hparams(wide=True)
    return {run: dict(row.dropna()) for run, row in found.iterrows()}


def log_example(writer):
    """Log the example in the documentation of torch's writer."""
    for i in range(5):
        writer.add_hparams(
            {"lr": 0.1 * i, "bsize": i}, {"hparam/accuracy": 10 * i, "hparam/loss": 10 * i}
        )


@pytest.mark.parametrize("reader", READERS)
def test_the_example_in_torchs_documentation_lists_five_trials(reader, tmp_path):
    for name, kind in {"theirs": TorchWriter, "ours": SummaryWriter}.items():
        with kind(str(tmp_path / name)) as writer:
            log_example(writer)
    ours, theirs = trials(tmp_path / "ours", reader), trials(tmp_path / "theirs", reader)
    assert list(ours) == [".", "trial-2", "trial-3", "trial-4", "trial-5"]
    assert list(ours.values()) == list(theirs.values())
    assert columns(tmp_path / "ours", reader) == columns(tmp_path / "theirs", reader)


@pytest.mark.parametrize("reader", READERS)
def test_trials_are_listed_while_the_writer_is_open(reader, tmp_path):
    writer = SummaryWriter(tmp_path / "run")
    log_example(writer)
    writer.flush()
    found = trials(tmp_path, reader)
    assert [hparam["bsize"] for hparam, _ in found.values()] == [0, 1, 2, 3, 4]
    assert [metric["hparam/loss"] for _, metric in found.values()] == [0, 10, 20, 30, 40]
    writer.close()


@pytest.mark.parametrize("reader", READERS)
def test_the_36_named_trials_of_tensorboardxs_test_are_listed(reader, tmp_path):
    choices = product((0.1, 0.01, 0.001), (1, 2, 4), (100, 200), (True, False))
    given = [
        dict(zip(("lr", "bsize", "n_hidden", "bn"), choice, strict=True)) for choice in choices
    ]
    for name, kind in {"theirs": tensorboardX.SummaryWriter, "ours": SummaryWriter}.items():
        with kind(str(tmp_path / name)) as writer:
            for number, trial in enumerate(given):
                writer.add_hparams(dict(trial), {"accuracy": number}, name=f"trial{number}")
    found = trials(tmp_path / "ours", reader)
    assert found == trials(tmp_path / "theirs", reader)
    assert found == {
        f"trial{number}": (trial, {"accuracy": number}) for number, trial in enumerate(given)
    }
    assert "trial35" in rf.open(tmp_path / "ours").hparams(wide=True).index


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("is_closed", [False, True])
def test_trials_with_different_hparams_and_metrics_are_shown_with_all_of_them(
    reader, is_closed, tmp_path
):
    writer = SummaryWriter(tmp_path / "run")
    writer.add_hparams({"opt": "sgd", "momentum": 0.9}, {"acc": 1.0})
    writer.add_hparams({"opt": "adam", "beta": 0.5}, {"acc": 2.0, "f1": 3.0})
    writer.add_hparams({"opt": "lion", "layers": "four"}, {"auc": 4.0}, run_name="last")
    writer.flush()
    if is_closed:
        writer.close()
    assert columns(tmp_path, reader) == (
        {"opt", "momentum", "beta", "layers"},
        {"acc", "f1", "auc"},
    )
    assert trials(tmp_path, reader) == {
        "run": ({"opt": "sgd", "momentum": 0.9}, {"acc": 1.0}),
        "run/trial-2": ({"opt": "adam", "beta": 0.5}, {"acc": 2.0, "f1": 3.0}),
        "run/last": ({"opt": "lion", "layers": "four"}, {"auc": 4.0}),
    }
    writer.close()


@pytest.mark.parametrize("reader", READERS)
def test_hparams_with_different_types_in_trials_are_shown(reader, tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for value in (3, "auto", True, None):
            writer.add_hparams({"layers": value, "seed": None}, {"acc": 0.5}, {"layers": [value]})
    assert columns(tmp_path, reader) == ({"layers"}, {"acc"})
    found = [hparam["layers"] for hparam, _ in trials(tmp_path, reader).values()]
    assert found == [3, "auto", True, 0]  # protobuf encodes null as 0


@pytest.mark.parametrize("reader", READERS)
def test_the_domain_of_an_hparam_includes_the_values_of_all_trials(reader, tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, {"lr": [0.1, 0.2]})
        writer.add_hparams({"lr": 0.3}, {"acc": 0.5})
    with provider(reader, tmp_path) as source:
        plan, _ = shown(source)
    assert [list(info.domain_discrete) for info in plan.hparam_infos] == [[0.1, 0.2, 0.3]]


def test_runfold_reads_each_trial_with_its_values(tmp_path):
    with SummaryWriter(tmp_path / "run") as writer:
        for rate in (0.1, 0.2):
            writer.add_hparams({"lr": rate}, {"acc": 10 * rate})
    runs = rf.open(tmp_path)
    assert hparams(tmp_path) == {"run": {"lr": 0.1}, "run/trial-2": {"lr": 0.2}}
    table = runs.table(columns=["status", "lr", "acc"]).to_dict("records")
    assert table == [
        {"run": "run", "status": "finished", "lr": 0.1, "acc": 1.0},
        {"run": "run/trial-2", "status": "finished", "lr": 0.2, "acc": 2.0},
    ]
    assert runs.sessions()["status"].tolist() == ["success"] * 2
    reduced = runs.reduce("mean", by="lr")
    assert reduced["lr=0.1", "acc"]["mean"].tolist() == [1.0]
    assert reduced["lr=0.2", "acc"]["mean"].tolist() == [2.0]


def test_the_same_hparams_again_are_the_same_trial(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for seed, rate in product(range(3), (0.1, math.nan)):
            writer.add_hparams({"lr": rate, "bias": True}, {"acc": seed}, global_step=seed)
    assert list(rf.open(tmp_path)) == [".", "trial-2"]
    for run in rf.open(tmp_path).values():
        assert (run["acc"].steps.tolist(), run["acc"].values.tolist()) == ([0, 1, 2], [0, 1, 2])
    assert len(rf.open(tmp_path).sessions()) == 2


def test_true_and_one_are_different_values(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for value in (True, 1, "True"):
            writer.add_hparams({"a": value}, {"acc": 0.5})
    assert hparams(tmp_path) == {".": {"a": True}, "trial-2": {"a": 1.0}, "trial-3": {"a": "True"}}


def test_metrics_of_a_trial_without_a_step_are_counted_from_0(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 9)
        writer.add_hparams({"lr": 0.1}, {"acc": 1})
        writer.add_hparams({"lr": 0.2})
        for value in (2, 3):
            writer.add_hparams({"lr": 0.2}, {"acc": value})
        writer.add_hparams({"lr": 0.2}, {"acc": 4}, global_step=7)
        writer.add_hparams({"lr": 0.2}, {"acc": 5})
        with writer.use_metadata(global_step=12, walltime=1.7e9):
            writer.add_hparams({"lr": 0.2}, {"acc": 6})
    runs = rf.open(tmp_path)
    assert runs["."]["acc"].steps.tolist() == [9]
    assert runs["trial-2"]["acc"].steps.tolist() == [0, 1, 7, 8, 12]
    assert runs["trial-2"]["acc"].wall_times[-1] == 1.7e9


def test_a_report_with_more_or_fewer_hparams_than_the_first_is_a_trial(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "bias": True}, {"acc": 1})
        writer.add_hparams({"lr": 0.1}, {"acc": 2})
        writer.add_hparams({"lr": 0.1, "bias": True, "depth": 2}, {"acc": 3})
        writer.add_hparams({"lr": 0.1})
        writer.add_hparams({}, {"f1": 4})
    assert trials(tmp_path) == {
        ".": ({"lr": 0.1, "bias": True}, {"acc": 1, "f1": 4}),
        "trial-2": ({"lr": 0.1}, {"acc": 2}),
        "trial-3": ({"lr": 0.1, "bias": True, "depth": 2}, {"acc": 3}),
    }


def test_the_first_report_belongs_to_the_run_with_these_hparams(tmp_path):
    with SummaryWriter(tmp_path, hparams={"lr": 0.1, "data": "cifar"}) as writer:
        writer.add_hparams({"lr": 0.1}, {"acc": 1}, global_step=1)
        writer.add_hparams({"lr": 0.1}, {"acc": 2}, global_step=2)
        writer.add_hparams({"lr": 0.1, "data": "cifar"}, {"acc": 3}, global_step=3)
    assert list(rf.open(tmp_path)) == ["."]
    assert rf.open(tmp_path)["."]["acc"].steps.tolist() == [1, 2, 3]


def test_metrics_without_hparams_leave_the_first_report_to_the_run(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({}, {"loss": 0.5})
        with pytest.warns(UserWarning, match="TensorBoard will not show lr:"):
            writer.add_hparams({"lr": 0.1}, {"acc": 0.5})
    assert hparams(tmp_path) == {".": {"lr": 0.1}}


def test_hparams_that_contradict_the_run_are_a_trial_even_without_metrics(tmp_path):
    with SummaryWriter(tmp_path, hparams={"lr": 0.1}) as writer:
        writer.add_hparams({"lr": 0.2, "bias": True})
        writer.add_hparams({"lr": 0.2, "bias": True})
    assert hparams(tmp_path) == {".": {"lr": 0.1}, "trial-2": {"lr": 0.2, "bias": True}}
    assert len(list((tmp_path / "trial-2").iterdir())) == 1


POSITIONS = {
    "torch's": lambda writer, name: writer.add_hparams(
        {"lr": 0.1}, {"acc": 1}, {"lr": [0.1, 0.2]}, name, 3
    ),
    "tensorboardX's": lambda writer, name: writer.add_hparams({"lr": 0.1}, {"acc": 1}, name, 3),
    "tensorboardX's without a name": lambda writer, name: writer.add_hparams(
        {"lr": 0.1}, {"acc": 1}, None, np.int64(3), name=name
    ),
    "torch's keywords": lambda writer, name: writer.add_hparams(
        hparam_dict={"lr": 0.1}, metric_dict={"acc": 1}, run_name=name, global_step=3
    ),
    "tensorboardX's keywords": lambda writer, name: writer.add_hparams(
        {"lr": 0.1}, {"acc": 1}, name=name, global_step=torch.tensor(3)
    ),
    "a path": lambda writer, name: writer.add_hparams({"lr": 0.1}, {"acc": 1}, None, Path(name), 3),
}


@pytest.mark.parametrize("call", POSITIONS)
def test_name_and_step_can_be_in_the_order_of_torch_or_tensorboardx(call, tmp_path):
    with SummaryWriter(tmp_path) as writer:
        POSITIONS[call](writer, "a/b")
    runs = rf.open(tmp_path)
    assert hparams(tmp_path) == {"a/b": {"lr": 0.1}}
    assert runs["a/b"]["acc"].steps.tolist() == [3]


@pytest.mark.parametrize("call", [TorchWriter.add_hparams, SummaryWriter.add_hparams])
def test_numbers_of_any_type_are_metrics_as_in_torch(call, tmp_path):
    numbers = {
        "tensor": torch.tensor([[2.5]], requires_grad=True),
        "numpy": np.float16(0.5),
        "array": np.array([3]),
        "bool": True,
        "int": 7,
    }
    kind = TorchWriter if call is TorchWriter.add_hparams else SummaryWriter
    with kind(str(tmp_path)) as writer:
        call(writer, {"lr": 0.1}, numbers, run_name="trial")
    expected = {"tensor": 2.5, "numpy": 0.5, "array": 3.0, "bool": 1.0, "int": 7.0}
    assert trials(tmp_path) == {"trial": ({"lr": 0.1}, expected)}


def test_a_named_trial_is_a_run_below_and_the_run_has_no_session(tmp_path):
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="trial")
    runs = rf.open(tmp_path)
    assert (runs["run"].tags["scalar"], runs["run/trial"].tags["scalar"]) == (["loss"], ["acc"])
    assert runs.sessions()["run"].tolist() == ["run/trial"]


def test_a_named_trial_can_be_reported_several_times(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(4):
            writer.add_hparams({"lr": 0.1}, {"acc": step / 4}, run_name="best", global_step=step)
        with pytest.warns(UserWarning, match="TensorBoard will not show lr:"):
            writer.add_hparams({"lr": 0.2}, {"acc": 1.0}, run_name="best", global_step=4)
    assert rf.open(tmp_path)["best"]["acc"].values.tolist() == [0, 0.25, 0.5, 0.75, 1.0]
    assert hparams(tmp_path) == {"best": {"lr": 0.2}}
    assert trials(tmp_path)["best"] == ({"lr": 0.1}, {"acc": 1.0})


def test_a_name_that_resolves_to_the_runs_folder_is_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter("runs/a") as writer:
        writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name=".")
        # A popular Stack Overflow answer uses this to log hparams in the run itself with torch.
        name = os.path.dirname(os.path.realpath("script.py")) + os.sep + writer.get_logdir()
        writer.add_hparams({"lr": 0.1}, {"f1": 0.25}, run_name=name)
    assert trials(tmp_path) == {"runs/a": ({"lr": 0.1}, {"acc": 0.5, "f1": 0.25})}


@pytest.mark.parametrize("name", ["../b", "{folder}/b"])
def test_a_trial_outside_the_run_is_written_as_in_torch_with_a_warning(name, tmp_path):
    name = name.format(folder=tmp_path)
    with SummaryWriter(tmp_path / "a") as writer:
        with pytest.warns(
            UserWarning, match=rf"written to {tmp_path}/b, outside the run's"
        ) as warned:
            writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name=name)
        writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name=name)
    assert [warning.filename for warning in warned] == [__file__]
    assert hparams(tmp_path) == {"b": {"lr": 0.1}}


def test_trials_of_several_writers_in_one_folder_do_not_share_a_folder(tmp_path):
    for start in (1, 2):
        with SummaryWriter(tmp_path) as writer:
            for rate in (1, 10):
                writer.add_hparams({"lr": start * rate}, {"acc": rate})
    assert hparams(tmp_path) == {
        ".": {"lr": 1},
        "trial-2": {"lr": 10},
        "trial-3": {"lr": 2},
        "trial-4": {"lr": 20},
    }


def log_trial(writer, rate):
    writer.add_hparams({"lr": rate}, {"acc": rate})


def test_forked_workers_log_separate_trials(tmp_path):
    writer = SummaryWriter(tmp_path, hparams={"lr": 0.0})
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=log_trial, args=(writer, rate)) for rate in (1.0, 2.0, 3.0)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    writer.close()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    found = hparams(tmp_path)
    assert sorted(row["lr"] for row in found.values()) == [0.0, 1.0, 2.0, 3.0]
    assert rf.open(tmp_path).sessions()["status"].tolist() == ["success"] * 4


def test_several_threads_can_log_trials(tmp_path):
    writer = SummaryWriter(tmp_path)
    barrier = threading.Barrier(8)

    def log(thread):
        barrier.wait()
        for number in range(10):
            log_trial(writer, 10 * thread + number)

    threads = [threading.Thread(target=log, args=[thread]) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = trials(tmp_path)
    assert sorted(hparam["lr"] for hparam, _ in found.values()) == list(range(80))
    assert all(hparam["lr"] == metric["acc"] for hparam, metric in found.values())


def test_a_trial_is_complete_when_the_call_returns(tmp_path):
    writer = SummaryWriter(tmp_path, hparams={"lr": 0.1})
    before = len(os.listdir("/dev/fd"))
    for number in range(50):
        writer.add_hparams({"lr": number}, {"acc": number})
    assert len(os.listdir("/dev/fd")) == before
    found = rf.open(tmp_path).sessions()
    assert found["status"].tolist().count("success") == 50
    assert rf.open(tmp_path)["trial-51"]["acc"].values.tolist() == [49.0]
    writer.close()


def test_a_trial_that_was_logged_before_the_program_failed_has_not_failed(tmp_path):
    def train():
        with SummaryWriter(tmp_path, hparams={"lr": 0.1}) as writer:
            writer.add_hparams({"lr": 0.2}, {"acc": 0.5})
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        train()
    found = rf.open(tmp_path).sessions()
    assert dict(zip(found["run"], found["status"], strict=True)) == {
        ".": "failure",
        "trial-2": "success",
    }


def test_a_silent_writer_creates_no_trials(tmp_path):
    with SummaryWriter(tmp_path / "run", write_to_disk=False) as writer:
        writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="trial")
        log_example(writer)
    assert list(tmp_path.rglob("*tfevents*")) == []


def test_a_trial_that_cannot_be_written_warns_and_is_complete_once_it_can(tmp_path):
    blocked = tmp_path / "trial"
    blocked.write_text("a file")
    with SummaryWriter(tmp_path) as writer:
        with pytest.warns(UserWarning, match="add_hparams failed: .*trial"):
            writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="trial")
        blocked.unlink()
        writer.add_hparams({"lr": 0.1}, {"acc": 0.75}, run_name="trial")
        assert writer.skipped == {"": 1}
    assert trials(tmp_path) == {"trial": ({"lr": 0.1}, {"acc": 0.75})}


def test_a_trial_that_cannot_be_written_raises_on_request(tmp_path):
    (tmp_path / "trial").write_text("a file")
    with SummaryWriter(tmp_path, on_error="raise") as writer:
        with pytest.raises(FileExistsError, match="trial"):
            writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="trial")
        writer.add_hparams({"lr": 0.1}, {"acc": 0.75})
    assert trials(tmp_path) == {".": ({"lr": 0.1}, {"acc": 0.75})}


def test_a_reopened_writer_continues_its_trials(tmp_path):
    writer = SummaryWriter(tmp_path)
    for rate in (0.1, 0.2):
        writer.add_hparams({"lr": rate}, {"acc": 1.0})
    writer.close()
    for rate in (0.1, 0.2, 0.3):
        writer.add_hparams({"lr": rate}, {"acc": 2.0}, global_step=1)
    writer.close()
    assert trials(tmp_path) == {
        ".": ({"lr": 0.1}, {"acc": 2.0}),
        "trial-2": ({"lr": 0.2}, {"acc": 2.0}),
        "trial-3": ({"lr": 0.3}, {"acc": 2.0}),
    }


def test_a_purge_step_also_applies_to_trials(tmp_path):
    for purge_step, steps in {None: range(5), 3: [3]}.items():
        with SummaryWriter(tmp_path, purge_step=purge_step) as writer:
            for step in steps:
                value = step if purge_step is None else 10
                writer.add_hparams({"lr": 0.1}, {"acc": value}, run_name="a", global_step=step)
    series = rf.open(tmp_path)["a"]["acc"]
    assert (series.steps.tolist(), series.values.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 10])


def test_a_tracked_run_has_trials(tmp_path):
    with rf.track(tmp_path / "run", hparams={"lr": 0.1}, code=False, system=False) as run:
        run.add_hparams({"lr": 0.1}, {"acc": 0.5})
        run.add_hparams({"lr": 0.2}, {"acc": 0.75})
    assert hparams(tmp_path) == {"run": {"lr": 0.1}, "run/trial-2": {"lr": 0.2}}
    assert rf.open(tmp_path).table(columns=["status"])["status"].tolist() == ["finished"] * 2


def test_invalid_input_in_a_later_call_creates_no_folder(tmp_path):
    with SummaryWriter(tmp_path, on_error="raise", hparams={"lr": 0.1}) as writer:
        for arguments in [
            ({"lr": 0.2}, {"acc": "high"}),
            ({"lr": 0.2}, {"acc": 0.5}, {"rate": [0.1]}),
            ({"lr": 0.2}, {"acc": 0.5}, None, "name", 2**64),
        ]:
            with pytest.raises(CannotLog):
                writer.add_hparams(*arguments)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []
    assert hparams(tmp_path) == {".": {"lr": 0.1}}


def test_successive_writers_in_a_folder_log_trials(tmp_path):
    for number in range(3):
        with rf.SummaryWriter(tmp_path / "run") as writer:
            writer.add_hparams({"lr": number / 10}, {"loss": float(number)})
    with rf.SummaryWriter(tmp_path / "run") as writer:  # the first run, continued
        writer.add_hparams({"lr": 0.0}, {"loss": 5.0}, global_step=9)
    runs = rf.open(tmp_path)
    assert runs.hparams(wide=True)["lr"].to_dict() == {
        "run": 0.0,
        "run/trial-2": 0.1,
        "run/trial-3": 0.2,
    }
    assert runs["run"]["loss"].values.tolist() == [0.0, 5.0]
    assert runs["run/trial-3"]["loss"].values.tolist() == [2.0]
