"""`runfold run` connects the writers of torch, tensorboardX and TensorFlow to the run's folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, SECONDS

import runfold as rf

WRITERS = ["torch.utils.tensorboard", "tensorboardX"]


def track(folder: Path, code: str, *options: str, status: int = 0, **env: str) -> str:
    """Run a program with `runfold run` in a folder, with its run in `runs/a`; return stderr."""
    folder.joinpath("train.py").write_text(textwrap.dedent(code))
    command = [sys.executable, "-m", "runfold", "run", "--logdir", "runs/a", "--no-system"]
    done = subprocess.run(
        [*command, *options, "--", sys.executable, "train.py"],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, "TF_CPP_MIN_LOG_LEVEL": "3", **env},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def read_last(folder: Path) -> dict[str, dict[str, float]]:
    """Return the last value of each scalar that is not a system metric, by run."""
    last: dict[str, dict[str, float]] = {}
    for point in rf.open(folder).scalars().itertuples():
        last.setdefault(point.run, {})[point.tag] = point.value
    return last


@pytest.mark.parametrize("module", WRITERS)
def test_writers_without_a_folder_log_to_the_runs_folder(tmp_path: Path, module: str) -> None:
    """A second writer gets a subfolder, so that its tags are in a separate run."""
    code = f"""
    from {module} import SummaryWriter
    for value in (1.0, 2.0):
        with SummaryWriter(comment="_x") as writer:
            writer.add_scalar("loss", value, 1)
    assert "{module}" == "tensorboardX" or writer.log_dir.endswith("runs/a/writer-2")
    """
    errors = track(tmp_path, code)
    assert "Linked" not in errors
    assert read_last(tmp_path / "runs") == {"a": {"loss": 1.0}, "a/writer-2": {"loss": 2.0}}
    run = rf.open(tmp_path / "runs")["a"]
    assert run.status.state == "finished"
    assert "SummaryWriter" in str(run.code)


@pytest.mark.parametrize("module", WRITERS)
def test_other_folders_are_linked_and_counted_once(tmp_path: Path, module: str) -> None:
    """The program's folders stay in their place. Those in the run's folder need no link."""
    code = (
        f"""
    from {module} import SummaryWriter
    import os, sys
    for folder in ("logs/train", "logs/val", "runs/a/inside", sys.argv[0] + "-logs"):
        with SummaryWriter(folder) as writer:
            writer.add_scalar("loss", 1.0, 1)
    writer = SummaryWriter("logs/train")
    writer.add_hparams({{"lr": 0.1}}, {{"best": 2.0}}, run_name="trial")
    writer.close()
    with SummaryWriter("runs") as writer:
        writer.add_scalar("above", 1.0, 1)
    """
        if module != "tensorboardX"
        else f"""
    from {module} import SummaryWriter
    import sys
    for folder in ("logs/train", "logs/val", "runs/a/inside", sys.argv[0] + "-logs"):
        with SummaryWriter(folder) as writer:
            writer.add_scalar("loss", 1.0, 1)
    """
    )
    errors = track(tmp_path, code)
    assert "Tracked in runs/a. The run links to logs/train, logs/val, train.py-logs." in errors
    links = {
        path.relative_to(tmp_path / "runs/a")
        for path in (tmp_path / "runs/a").rglob("*")
        if path.is_symlink()
    }
    assert links == {Path("logs/train"), Path("logs/val"), Path("train.py-logs")}
    assert {"a/logs/train", "a/logs/val", "a/inside"} <= set(rf.open(tmp_path / "runs"))
    assert [name for name in rf.open(tmp_path) if "logs/train" in name and "trial" not in name] == [
        "logs/train"
    ]


def test_folders_with_the_same_name_are_all_linked(tmp_path: Path) -> None:
    """A link gets a number if another folder already has its name."""
    code = """
    from tensorboardX import SummaryWriter
    import os
    for parent in ("first", "second", "first", "third"):
        with SummaryWriter(f"../{parent}/logs") as writer:
            writer.add_scalar("loss", 1.0, 1)
    os.makedirs("runs/a/own")
    with SummaryWriter("../own") as writer:
        writer.add_scalar("loss", 1.0, 1)
    """
    folder = tmp_path / "start"
    folder.mkdir()
    track(folder, code)
    links = {
        path.name: path.resolve() for path in (folder / "runs/a").iterdir() if path.is_symlink()
    }
    assert links == {
        "logs": tmp_path / "first/logs",
        "logs-2": tmp_path / "second/logs",
        "logs-3": tmp_path / "third/logs",
        "own-2": tmp_path / "own",
    }


@pytest.mark.parametrize("module", WRITERS)
def test_writers_of_several_processes_have_separate_folders(tmp_path: Path, module: str) -> None:
    """Only the first writer logs to the run's folder. The end of a run removes its claims."""
    child = f"""
    from {module} import SummaryWriter
    import sys
    for value in (1.0, 2.0):
        with SummaryWriter() as writer:
            writer.add_scalar("loss", float(sys.argv[1]) + value, 1)
    """
    (tmp_path / "child.py").write_text(textwrap.dedent(child))
    code = """
    import subprocess, sys
    for number in "13":
        subprocess.run([sys.executable, "child.py", number], check=True)
    """
    (tmp_path / "tmp").mkdir()
    for options in ([], ["--resume"]):
        track(tmp_path, code, *options, TMPDIR=str(tmp_path / "tmp"))
        assert read_last(tmp_path / "runs") == {
            "a": {"loss": 2.0},
            "a/writer-2": {"loss": 3.0},
            "a/writer-3": {"loss": 4.0},
            "a/writer-4": {"loss": 5.0},
        }
        assert not list((tmp_path / "tmp").glob("runfold-run-*"))


def test_tensorflow_writers_are_linked(tmp_path: Path) -> None:
    """The writers of TensorFlow 2, of Keras's callback and of TensorFlow 1."""
    code = """
    import tensorflow as tf
    with tf.summary.create_file_writer("logs/two").as_default():
        tf.summary.scalar("loss", 1.0, 1)
    with tf.Graph().as_default():
        writer = tf.compat.v1.summary.FileWriter("logs/one")
        value = tf.compat.v1.Summary.Value(tag="loss", simple_value=1.0)
        writer.add_summary(tf.compat.v1.Summary(value=[value]), 1)
        writer.close()
    import keras, numpy as np
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 1)), np.ones(4), verbose=0,
              callbacks=[keras.callbacks.TensorBoard("logs/keras")])
    """
    errors = track(tmp_path, code, KERAS_BACKEND="tensorflow")
    assert "The run links to logs/keras/train, logs/one, logs/two." in errors
    assert set(rf.open(tmp_path / "runs")) == {
        *("a", "a/logs/keras/train", "a/logs/one", "a/logs/two")
    }


def test_programs_that_the_command_starts_are_connected(tmp_path: Path) -> None:
    """A shell script, spawned workers and ranks of a distributed job log to separate folders."""
    (tmp_path / "sitecustomize.py").write_text("import os; os.environ['HIDDEN'] = 'found'")
    code = """
    import multiprocessing, os, subprocess, sys
    from tensorboardX import SummaryWriter

    def work(name):
        with SummaryWriter(f"logs/{name}") as writer:
            writer.add_scalar("loss", 1.0, 1)

    RANK = (
        "from tensorboardX import SummaryWriter;"
        "writer = SummaryWriter(); writer.add_scalar('loss', 1.0, 1); writer.close()"
    )

    if __name__ == "__main__":
        assert os.environ["HIDDEN"] == "found"
        assert not any("autolog" in path for path in sys.path)
        process = multiprocessing.get_context("spawn").Process(target=work, args=("spawned",))
        process.start()
        process.join()
        for rank in "01":
            environment = {**os.environ, "RANK": rank}
            command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, RANK]
            subprocess.run(command, check=True, env=environment)
    """
    track(tmp_path, code, PYTHONPATH=str(tmp_path))
    assert read_last(tmp_path / "runs") == {
        "a": {"loss": 1.0},
        "a/logs/spawned": {"loss": 1.0},
        "a/rank-1": {"loss": 1.0},
    }


def test_autolog_can_be_turned_off(tmp_path: Path) -> None:
    """`--no-autolog` changes nothing in the program."""
    code = """
    import os, sys
    assert "autolog" not in os.environ.get("PYTHONPATH", "")
    assert not any(type(finder).__name__ == "Finder" for finder in sys.meta_path)
    from tensorboardX import SummaryWriter
    with SummaryWriter("logs") as writer:
        writer.add_scalar("loss", 1.0, 1)
    """
    errors = track(tmp_path, code, "--no-autolog")
    assert "Linked" not in errors
    assert set(rf.open(tmp_path / "runs")) == {"a"}


def test_a_program_that_imports_no_writer_is_unchanged(tmp_path: Path) -> None:
    """Its exit status, imports and failing `sitecustomize` are the same as without Runfold."""
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('of the user')")
    code = """
    import sys
    assert not {"typing", "contextlib", "functools", "runfold"} & set(before)
    sys.exit(5)
    """
    code = f"import sys; before = [*sys.modules]\n{textwrap.dedent(code)}"
    folder = tmp_path / "sub"
    folder.mkdir()
    folder.joinpath("train.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "runfold", "run", "--logdir", "runs/a", "--no-system", "--"]
    done = subprocess.run(
        [*command, sys.executable, "train.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    assert done.stderr.count("ValueError: of the user") >= 1


def test_a_default_writer_is_stopped_by_a_request(tmp_path: Path) -> None:
    """`runfold stop` reaches the program that logs with torch's writer."""
    code = """
    import pathlib, time
    from tensorboardX import SummaryWriter
    with SummaryWriter() as writer:
        writer.add_scalar("loss", 1.0, 1)
        pathlib.Path("runs/a/.runfold/stop").touch()
        time.sleep(600)
    """
    folder = tmp_path / "train.py"
    folder.write_text(textwrap.dedent(code))
    command = [sys.executable, "-m", "runfold", "run", "--logdir", "runs/a", "--no-system", "--"]
    done = subprocess.run(
        [*command, sys.executable, "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        # Jobs that a shell starts with `&` ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode in (1, 130)
    run = rf.open(tmp_path / "runs")["a"]
    assert (run.status.state, run["loss"].values.tolist()) == ("stopped", [1.0])
