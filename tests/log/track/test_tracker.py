"""The tracker: what a run records about itself, and how it is stopped."""

import argparse
import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import runfold as rf
from runfold._story.stop_request import request_stop


def run_script(code: str, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = cwd / "train.py"
    script.write_text("import runfold as rf\n" + textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, "train.py", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_example_in_the_docs_works_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with rf.track("runs/seed-1", hparams={"lr": 0.1}) as run:
        run.log({"train/loss": 0.5}, step=1)
    read = rf.open("runs")["seed-1"]
    assert read["train/loss"].values.tolist() == [0.5]
    assert rf.open("runs").hparams(wide=True).loc["seed-1", "lr"] == 0.1
    assert read.status.state == "finished"


def test_a_plain_object_starts_with_its_first_call(tmp_path):
    run = rf.track(tmp_path / "run", system=False)
    assert not (tmp_path / "run").exists()
    run.add_scalar("loss", 1.0, 1)
    assert (tmp_path / "run").is_dir()
    run.close()
    assert rf.open(tmp_path)["run"]["loss"].values.tolist() == [1.0]


def test_every_call_of_a_decorated_function_is_a_run(tmp_path):
    @rf.track(tmp_path / "run", system=False)
    def train(value: float, run: rf.SummaryWriter) -> float:
        run.add_scalar("loss", value, 1)
        return value

    assert not (tmp_path / "run").exists()
    assert train(1.0) == 1.0  # type: ignore[call-arg]
    with pytest.warns(UserWarning, match="There is already a run in .*; this run goes to .*run-2"):
        assert train(2.0) == 2.0  # type: ignore[call-arg]
    runs = rf.open(tmp_path)
    assert {name: run["loss"].values.tolist() for name, run in runs.items()} == {
        "run": [1.0],
        "run-2": [2.0],
    }


def test_the_story_is_in_the_folder_and_tensorboard_shows_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # not here: this file has the secret, and may be uncommitted
    config = argparse.Namespace(lr=0.1, model={"width": 64, "act": "relu"}, api_key="hush")
    with rf.track(tmp_path, config=config, system=False) as run:
        run.add_scalar("loss", 1.0, 1)
    read = rf.open(tmp_path)["."]
    assert read.config["model"] == {"width": 64, "act": "relu"}
    assert rf.open(tmp_path).hparams(wide=True).loc[".", "model.width"] == 64
    assert read.packages["numpy"]
    assert read.host["python"]
    events = EventAccumulator(str(tmp_path)).Reload()
    assert "runfold/config" in events.Tags()["tensors"]
    every_byte = b"".join(path.read_bytes() for path in tmp_path.glob("*tfevents*"))
    assert b"hush" not in every_byte


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ("", "finished"),
        ("raise ValueError('no such luck')", "failed"),
        ("raise KeyboardInterrupt", "interrupted"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM); signal.pause()", "killed"),
        ("import os, signal; run.flush(); os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    ],
)
@pytest.mark.parametrize("how", ["with", "plain"])
def test_the_status_shows_how_a_run_ended(tmp_path, end, state, how):
    body = f"run.add_scalar('loss', 1.0, 1)\n{end}"
    if how == "with":
        code = "with rf.track('run', system=False) as run:\n" + textwrap.indent(body, "    ")
    else:
        code = "run = rf.track('run', system=False)\n" + body
    run_script(code, tmp_path)
    status = rf.open(tmp_path)["run"].status
    assert status.state == state
    if state == "failed":
        assert "no such luck" in status.traceback


def test_a_stop_request_interrupts_the_main_thread(tmp_path):
    began = threading.Event()

    def ask() -> None:
        began.wait()
        request_stop(str(tmp_path), "enough")

    asker = threading.Thread(target=ask)
    asker.start()
    run = rf.track(tmp_path, system=False)

    def train() -> None:
        with run:
            run.add_scalar("loss", 1.0, 1)
            began.set()
            threading.Event().wait(60)

    with pytest.raises(KeyboardInterrupt):
        train()
    asker.join()
    assert run.should_stop
    assert rf.open(tmp_path)["."].status.state == "stopped"


def test_on_stop_is_called_instead_of_an_interrupt(tmp_path):
    stopped = threading.Event()
    with rf.track(tmp_path, system=False, on_stop=lambda *request: stopped.set()) as run:
        run.add_scalar("loss", 1.0, 1)
        request_stop(str(tmp_path))
        assert stopped.wait(60)
        assert run.should_stop
    assert rf.open(tmp_path)["."].status.state in ("finished", "stopped")


def test_a_resumed_run_discards_steps_after_its_checkpoint(tmp_path):
    with rf.track(tmp_path, system=False) as run:
        for step in range(180):
            run.add_scalar("loss", 1.0, step)
    with rf.track(tmp_path, resume=True, system=False) as run:
        for step in range(100, 200):
            run.add_scalar("loss", 2.0, step)
    read = rf.open(tmp_path)["."]
    assert read["loss"].steps.tolist() == list(range(200))
    assert read["loss"].values.tolist() == [1.0] * 100 + [2.0] * 100
    assert read["loss"].hidden == 80
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    assert [event.value for event in accumulator.Scalars("loss")] == [1.0] * 100 + [2.0] * 100


def test_a_resumed_run_continues_each_of_its_counters(tmp_path):
    for start in (0, 100):
        with rf.track(tmp_path, resume=bool(start), system=0.01, output=True) as run:
            print(f"from step {start}")
            run.save(__file__, f"checkpoint-{start}")
            # Text without a step does not count as a training step.
            run.add_text("note", "on another machine")
            for step in range(start, start + 150):
                run.add_scalar("loss", float(start), step)
            wait_for_system(run)
    read = rf.open(tmp_path, restarts="keep")["."]
    for tag in (tag for tag in read if tag.startswith("system/")):
        assert (np.diff(read[tag].steps) > 0).all()
    read = rf.open(tmp_path)["."]
    assert read["loss"].values.tolist() == [0.0] * 100 + [100.0] * 150
    assert read.output == "from step 0\nfrom step 100\n"
    assert [artifact.name for artifact in read.artifacts] == ["checkpoint-0", "checkpoint-100"]
    assert read.text("runfold/status")["step"].tolist() == [0, 1, 2, 3]


def test_a_resumed_run_without_steps_continues_counting(tmp_path):
    for _ in range(2):
        with rf.track(tmp_path, resume=True, system=False) as run:
            for _ in range(3):
                run.log({"loss": 1.0})
    assert rf.open(tmp_path)["."]["loss"].steps.tolist() == list(range(6))


@pytest.mark.parametrize(
    "log",
    [
        lambda run: run.add_image("i", np.zeros((3, 2, 2), np.uint8), 2),
        lambda run: run.add_scalar_series("s", [2, 3], [1.0, 1.0]),
        lambda run: run.log({"loss": 1.0}, 2),
    ],
)
def test_the_first_call_of_any_kind_resumes_a_run(tmp_path, log):
    with rf.track(tmp_path, system=False) as run:
        for step in range(5):
            run.add_scalar("loss", 0.0, step)
    with rf.track(tmp_path, resume=True, system=False) as run:
        log(run)
        run.add_scalar("loss", 1.0, 4)
    read = rf.open(tmp_path)["."]
    assert read["loss"].hidden == 3
    assert read.images()["step"].tolist() in ([], [2])
    assert read.hidden == 3


def wait_for_system(run):
    """Wait until system metrics have been measured."""
    while not any("system/" in tag for tag in rf.open(run.folder)["."]):
        run.flush()


def test_artifacts_are_in_the_runs_folder_with_their_hash(tmp_path):
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"0123456789")
    with rf.track(tmp_path / "run", system=False) as run:
        saved = run.save(weights)
    assert Path(saved.path if os.path.isabs(saved.path) else tmp_path / "run" / saved.path).exists()
    (read,) = rf.open(tmp_path / "run")["."].artifacts
    assert read.sha256 == saved.sha256
    assert saved.size == 10


def test_other_ranks_accept_every_call_and_write_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with rf.track(tmp_path / "run", hparams={"lr": 0.1}) as run:
        run.add_scalar("loss", 1.0, 1)
        run.log({"loss": 1.0}, 2)
        assert run.save(__file__) is None
        assert not run.should_stop
    assert list((tmp_path / "run").iterdir()) == []


def test_output_is_recorded_and_still_printed(tmp_path):
    code = """
        import os, subprocess, sys
        with rf.track("run", output=True, system=False) as run:
            print("from Python")
            subprocess.run(["echo", "from a child"])
            print("to stderr", file=sys.stderr)
    """
    done = run_script(code, tmp_path)
    assert done.stdout == "from Python\nfrom a child\n"
    recorded = rf.open(tmp_path)["run"].output
    for line in ("from Python", "from a child", "to stderr"):
        assert line in recorded
        assert line in done.stdout + done.stderr


def test_the_command_line_is_recorded_without_secrets(tmp_path):
    code = "with rf.track('run', system=False) as run: run.add_scalar('loss', 1.0, 1)"
    run_script(code, tmp_path, "--lr", "0.1", "--api-key", "hush")
    command = json.dumps(rf.open(tmp_path)["run"].command)
    assert "0.1" in command
    assert "hush" not in command


@pytest.mark.filterwarnings("ignore:There is already a run in")
def test_runs_that_start_at_the_same_moment_get_separate_folders(tmp_path):
    gate = threading.Barrier(8)

    def work(number):
        gate.wait()
        with rf.track(tmp_path / "run", code=False, system=False) as run:
            run.add_scalar("number", number, 0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [list(run["number"].values) for run in rf.open(tmp_path).values()]
    assert sorted(numbers) == [[float(number)] for number in range(8)]
    assert not list(tmp_path.glob("*/.runfold/claim"))


def test_without_git_the_modules_next_to_the_script_are_recorded(tmp_path):
    for name, code in {
        "package/__init__.py": "",
        "package/train.py": "import runfold, shared\nwith runfold.track('run'): pass",
        "shared.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    subprocess.run([sys.executable, "-m", "package.train"], cwd=tmp_path, check=True)
    kept = rf.open(tmp_path / "run")["."].code
    assert kept.script == "package/train.py"
    assert sorted(kept.files) == ["package/__init__.py", "package/train.py", "shared.py"]
