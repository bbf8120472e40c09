"""The run behind every framework's adapter."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import runfold as rf
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun


@pytest.fixture
def framework_run(tmp_path):
    run = FrameworkRun(tmp_path / "logs", "one", system=False, code=False)
    yield run
    run.finish()


def read_points(path: Path) -> dict[str, list[tuple[int, float]]]:
    run = rf.open(path.parent)[path.name]
    return {
        tag: list(zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True))
        for tag in sorted(set(run.scalars()["tag"]))
    }


def test_nothing_is_written_before_the_first_call(framework_run, tmp_path) -> None:
    assert not framework_run.is_open
    assert framework_run.folder is None
    assert not (tmp_path / "logs").exists()


def test_wrong_options_are_reported_at_once(tmp_path) -> None:
    with pytest.raises(TypeError, match="has no option 'no_such'"):
        FrameworkRun(tmp_path, no_such=False)


def test_nested_metric_names_are_joined_by_slashes_and_none_values_are_skipped(
    framework_run, tmp_path
) -> None:
    framework_run.log({"loss": 1.0, "val": {"acc": 0.5, "none": None}, 3: 4}, 1, "train/")
    framework_run.finish()
    assert read_points(tmp_path / "logs" / "one") == {
        "train/3": [(1, 4.0)],
        "train/loss": [(1, 1.0)],
        "train/val/acc": [(1, 0.5)],
    }


def test_a_value_that_cannot_be_logged_does_not_affect_others(framework_run, tmp_path) -> None:
    with pytest.warns(UserWarning, match="Tag 'loss'"):
        framework_run.log({"loss": "bad", "acc": 0.5}, 1)
    framework_run.finish()
    assert read_points(tmp_path / "logs" / "one") == {"acc": [(1, 0.5)]}


def test_plain_numbers_of_an_open_run_are_logged_in_one_call_and_all_others_one_by_one(
    framework_run, tmp_path
) -> None:
    assert not framework_run.log_plain({"loss": 0.0}, 0)
    assert framework_run.folder is None
    framework_run.log({"loss": 1.0}, 1, "train/")
    # The first call after a pause of the writing thread, which can happen now, returns False.
    while not framework_run.log_plain({"loss": 2.0, "epoch": np.int64(1)}, 2, "train/"):
        framework_run.log({"pause": 0.0}, 0)
    for values, step in (({"loss": 3.0, "val": {}}, 3), ({"loss": 4.0}, None), ({5: 5.0}, 5)):
        assert not framework_run.log_plain(values, step, "train/")
    framework_run.finish()
    assert not framework_run.log_plain({"loss": 6.0}, 6)
    points = read_points(tmp_path / "logs" / "one")
    points.pop("pause", None)
    assert points == {"train/epoch": [(2, 1.0)], "train/loss": [(1, 1.0), (2, 2.0)]}


def test_a_nan_is_logged_with_a_warning(framework_run, tmp_path) -> None:
    framework_run.log({"loss": 1.0}, 1)
    with pytest.warns(UserWarning, match="Tag 'loss' is NaN at step 2"):
        framework_run.log({"epoch": 1, "loss": float("nan"), "none": None}, 2)
    framework_run.finish()
    points = read_points(tmp_path / "logs" / "one")
    assert points["epoch"] == [(2, 1.0)]
    assert [step for step, _ in points["loss"]] == [1, 2]
    assert sorted(points) == ["epoch", "loss"]


def test_a_call_after_the_end_continues_the_run(framework_run, tmp_path) -> None:
    framework_run.log({"loss": 1.0}, 1)
    framework_run.finish()
    framework_run.finish()
    framework_run.log({"loss": 0.5}, 0)
    framework_run.finish()
    assert list(rf.open(tmp_path / "logs")) == ["one"]
    assert read_points(tmp_path / "logs" / "one") == {"loss": [(1, 1.0), (0, 0.5)]}
    assert rf.open(tmp_path / "logs")["one"].status.state == "finished"


def test_a_continued_run_lasts_from_its_first_start_to_its_last_end(
    framework_run, tmp_path
) -> None:
    framework_run.log({"loss": 1.0}, 1)
    framework_run.finish()
    first = rf.open(tmp_path / "logs")["one"].status
    for step in (2, 3):
        framework_run.log({"loss": 0.5}, step)
        framework_run.finish()
    last = rf.open(tmp_path / "logs")["one"].status
    assert last.started == first.started
    assert last.ended > first.ended
    table = rf.open(tmp_path / "logs").table()
    assert table["duration"].tolist() == [pytest.approx(last.ended - first.started)]


def test_a_continued_run_keeps_its_name_in_a_storage(tmp_path) -> None:
    options = {"system": False, "code": False, "storage": tmp_path / "storage"}
    run = FrameworkRun(tmp_path / "logs", "sweep/one", **options)
    for step in (1, 2):
        run.log({"loss": 1.0}, step)
        run.finish()
    assert list(rf.open(tmp_path / "storage")) == ["sweep/one"]
    assert read_points(tmp_path / "storage" / "sweep" / "one") == {"loss": [(1, 1.0), (2, 1.0)]}


def test_a_run_continued_at_a_step_discards_later_points(framework_run, tmp_path) -> None:
    framework_run.log({"loss": 1.0}, 1)
    framework_run.log({"loss": 0.5}, 2)
    framework_run.continue_at(2)
    framework_run.log({"val": 0.5}, 9)
    framework_run.finish()
    framework_run.log({"val": 0.25}, 2)  # a call after the end discards nothing
    framework_run.finish()
    assert read_points(tmp_path / "logs" / "one") == {
        "loss": [(1, 1.0)],
        "val": [(9, 0.5), (2, 0.25)],
    }


def test_a_model_that_cannot_be_written_causes_a_warning(framework_run, tmp_path) -> None:
    framework_run.save_as("model.txt", lambda path: Path(path).write_text("model"))
    with pytest.warns(UserWarning, match="'no.txt' was not saved as an artifact: IsADirectory"):
        framework_run.save_as("no.txt", lambda path: Path(path).parent.write_text("model"))
    framework_run.finish()
    (artifact,) = rf.open(tmp_path / "logs")["one"].artifacts
    assert artifact.name == "model.txt"


def test_an_artifact_that_cannot_be_saved_causes_a_warning(framework_run, tmp_path) -> None:
    (tmp_path / "model.pt").write_bytes(b"model")
    framework_run.save(tmp_path / "model.pt")
    with pytest.warns(UserWarning, match="missing.pt' was not saved as an artifact: FileNotFound"):
        framework_run.save(tmp_path / "missing.pt")
    framework_run.finish()
    (artifact,) = rf.open(tmp_path / "logs")["one"].artifacts
    assert artifact.name == "model.pt"


def test_configurations_add_up_and_secrets_are_masked(framework_run, tmp_path) -> None:
    framework_run.log_config({"lr": 0.1, "optim": {"name": "sgd"}})
    with pytest.warns(UserWarning, match="TensorBoard will not show lr, api_key"):
        framework_run.log_config({"api_key": "abc123def456", "lr": 0.2}, {"hp/loss": 0.5}, 3)
    framework_run.finish()
    run = rf.open(tmp_path / "logs")["one"]
    assert run.config == {"lr": 0.2, "optim": {"name": "sgd"}, "api_key": "***"}
    frame = run.hparams()
    hparams = dict(zip(frame["hparam"], frame["value"], strict=True))
    assert hparams == {"lr": 0.2, "optim.name": "sgd", "api_key": "***"}
    assert read_points(tmp_path / "logs" / "one") == {"hp/loss": [(3, 0.5)]}


def test_a_stop_request_is_noted_and_recorded(framework_run, tmp_path) -> None:
    framework_run.log({"loss": 1.0}, 1)
    control = framework_run.tracker._tracked.control
    rf.stop(tmp_path / "logs" / "one", reason="enough")
    control._look()
    assert framework_run.should_stop
    assert framework_run.stop_request.reason == "enough"
    framework_run.finish()
    assert rf.open(tmp_path / "logs")["one"].status.state == "stopped"


def test_an_error_ends_the_run_as_failed(framework_run, tmp_path) -> None:
    framework_run.log({"loss": 1.0}, 1)
    framework_run.finish_as(False, "The trainer reported 'crashed'.")
    status = rf.open(tmp_path / "logs")["one"].status
    assert status.state == "failed"
    assert "The trainer reported 'crashed'." in status.traceback


UNCLOSABLE = """
import os
from runfold.integrations._support.framework_run import FrameworkRun

run = FrameworkRun("logs", "one", system=False, code=False)
run.log({"loss": 1.0}, 1)
run.flush()
os.close(run.tracker._event_writer.file.stream._file)
run.finish()
print("training continues")
"""


def test_a_file_that_cannot_be_closed_does_not_stop_training(tmp_path) -> None:
    command = [sys.executable, "-c", UNCLOSABLE]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout == "training continues\n"
    assert "The event file of the run could not be closed: [Errno 9]" in ended.stderr
    assert rf.open(tmp_path / "logs")["one"]["loss"].values.tolist() == [1.0]


def test_a_pickled_run_is_continued_by_its_copy(framework_run, tmp_path) -> None:
    framework_run.log({"loss": 1.0}, 1)
    copy = pickle.loads(pickle.dumps(framework_run))
    framework_run.finish()
    copy.log({"loss": 0.5}, 2)
    copy.finish()
    assert read_points(tmp_path / "logs" / "one") == {"loss": [(1, 1.0), (2, 0.5)]}


def test_the_error_for_a_missing_framework_says_how_to_install_it() -> None:
    message = "could not import it .*`pip install no-such`. Tested with version 1.2"
    with pytest.raises(ImportError, match=message), importing("NoSuch", "no-such", "1.2"):
        import no_such_framework  # type: ignore[import-not-found]  # noqa: F401


def test_a_version_without_an_expected_module_is_not_called_missing() -> None:
    message = "does not work with numpy [0-9.]+: No module .*no_such.* It was tested with numpy 0.1"
    with pytest.raises(ImportError, match=message), importing("NumPy", "numpy", "0.1"):
        import numpy.no_such  # type: ignore[import-not-found]  # noqa: F401


def test_a_framework_without_the_expected_names_is_named_with_its_version() -> None:
    message = "does not work with numpy [0-9.]+: .*no_such_name.* It was tested with numpy 0.1"
    with pytest.raises(ImportError, match=message), importing("NumPy", "numpy", "0.1"):
        from numpy import no_such_name  # type: ignore[attr-defined]  # noqa: F401


def test_a_framework_that_fails_while_it_is_imported_is_named_with_its_version() -> None:
    message = (
        r"for CatBoost does not work with the installed version: ValueError: numpy.dtype size "
        r"changed. It was tested with no-such-package 1.2"
    )
    with (
        pytest.raises(ImportError, match=message),
        importing("CatBoost", "no-such-package", "1.2"),
    ):
        raise ValueError("numpy.dtype size changed")


def test_training_continues_without_a_log_if_the_folder_cannot_be_created(tmp_path) -> None:
    (tmp_path / "file").touch()
    run = FrameworkRun(tmp_path / "file", "one", system=False, code=False)
    with pytest.warns(UserWarning, match="Training continues without a log: .*file"):
        run.log({"loss": 1.0}, 1)
    run.log({"loss": 0.5}, 2)
    run.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_further_runs_of_a_program_get_folders_next_to_the_first(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("RUNFOLD_LOGDIR", str(tmp_path / "host"))
    for value in (1.0, 2.0):
        run = FrameworkRun(system=False, code=False)
        run.log({"loss": value}, 0)
        run.finish()
        run.log({"loss": value}, 1)  # continues the same run
        run.finish()
    inner = FrameworkRun(tmp_path / "host", "inner", system=False, code=False)
    inner.log({"loss": 3.0}, 0)
    inner.finish()
    runs = rf.open(tmp_path)
    points = {name: run["loss"].values.tolist() for name, run in runs.items()}
    assert points == {"host": [1.0, 1.0], "host-2": [2.0, 2.0], "host/inner": [3.0]}


UNFINISHED = """
import sys, contextlib
from runfold.integrations._support.framework_run import FrameworkRun

for name in ("handled", "ended", "never"):
    run = FrameworkRun("logs", name, system=False, code=False, output=False)
    run.log({"loss": 1.0}, 1)
    run.is_training = name != "never"
    if name == "ended":
        run.finish()
    globals()[name] = run
if len(sys.argv) > 1:
    raise ValueError("the data is gone")
"""


def test_unfinished_training_is_marked_as_failed_when_the_program_ends(tmp_path) -> None:
    for arguments in ([], ["raise"]):
        folder = tmp_path / "-".join(["work", *arguments])
        folder.mkdir()
        command = [sys.executable, "-c", UNFINISHED, *arguments]
        subprocess.run(command, cwd=folder, check=not arguments, capture_output=True)
        runs = rf.open(folder / "logs")
        states = {name: run.status.state for name, run in runs.items()}
        never = "failed" if arguments else "finished"
        assert states == {"handled": "failed", "ended": "finished", "never": never}
        reason = "the data is gone" if arguments else "Training did not finish."
        assert reason in runs["handled"].status.traceback
