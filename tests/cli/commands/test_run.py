"""The command `runfold run`."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from helpers.cli_runs import RUNFOLD, run_apart

import runfold as rf
from runfold._cli.commands.log.run import _Child


@pytest.fixture
def script(tmp_path):
    def write(code: str) -> Path:
        (tmp_path / "train.py").write_text(textwrap.dedent(code))
        return tmp_path

    return write


def track(folder: Path, *arguments: str, **env: str):
    return run_apart(
        "run", "--logdir", "run", *arguments, "--", sys.executable, "train.py", cwd=folder, **env
    )


def test_a_script_is_tracked_without_changes(script):
    folder = script("print('hello'); raise SystemExit(3)")
    done = track(folder)
    assert done.returncode == 3
    assert done.stdout == "hello\n"
    assert "ended with status 3. Tracked in run." in done.stderr
    run = rf.open(folder)["run"]
    assert run.status.state == "failed"
    assert run.status.exit == 3
    assert "hello" in run.output
    assert "train.py" in str(run.command)


def test_event_files_go_to_the_run_s_folder(script):
    folder = script(
        """
        import sys
        from torch.utils.tensorboard import SummaryWriter
        with SummaryWriter(sys.argv[1]) as writer:
            writer.add_scalar("torch", 1.0, 1)
        import runfold as rf
        with rf.SummaryWriter() as writer:
            writer.add_scalar("own", 2.0, 1)
        with rf.track(hparams={"lr": 0.1}) as run:
            run.add_scalar("tracked", 3.0, 1)
        """
    )
    done = run_apart(
        "run",
        *("--logdir", "run", "--", sys.executable, "train.py", "{logdir}"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    runs = rf.open(folder)
    assert list(runs) == ["run"]
    assert {"torch", "own", "tracked"} <= set(runs["run"])
    assert runs["run"].status.state == "finished"
    assert runs.hparams(wide=True).loc["run", "lr"] == 0.1


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("no-such-program", "No such program. Nothing was run.\n"),
        (
            "train.py",
            "Not an executable file. Nothing was run. Did you mean `python train.py`?\n",
        ),
    ],
)
def test_an_unknown_command_is_an_error_and_leaves_no_run(script, program, message):
    folder = script("")
    done = run_apart("run", "--logdir", "run", "--", program, cwd=folder)
    assert done.returncode == 2
    assert done.stderr == f"{program}: {message}"
    assert not (folder / "run").exists()


def test_a_folder_in_use_is_reported_in_one_line(script):
    folder = script("")
    with rf.SummaryWriter(folder / "run"):
        pass
    done = track(folder, "--no-system")
    assert done.stderr.splitlines()[0] == (
        "There is already a run in run; this run goes to run-2. "
        "Use --resume, or resume=True in Python, to continue the existing run instead."
    )
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("number", "state"),
    [
        ("SIGKILL", "killed"),
        ("SIGTERM", "killed"),
        ("SIGINT", "interrupted"),
        ("SIGABRT", "failed"),
    ],
)
def test_a_script_ended_by_a_signal_has_its_status(script, number, state):
    folder = script(f"import os, signal; os.kill(os.getpid(), signal.{number})")
    status = 128 + signal.Signals[number]
    done = track(folder)
    assert done.returncode == status
    assert f"ended with status {status}." in done.stderr
    story = rf.open(folder)["run"].status
    assert (story.state, story.exit) == (state, status)


STOPPED = """
import pathlib, signal, time
pathlib.Path("run/.runfold/stop").touch()
time.sleep(60)
"""


@pytest.mark.parametrize("is_deaf", [False, True])
def test_a_stop_request_reaches_the_script(script, is_deaf):
    folder = script(STOPPED)
    done = subprocess.run(
        [*RUNFOLD, "run", "--logdir", "run", "--", sys.executable, "train.py"],
        cwd=folder,
        check=False,
        timeout=30,
        # Shell scripts also make jobs started with `&` ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) if is_deaf else None,
    )
    assert done.returncode == 128 + (signal.SIGTERM if is_deaf else signal.SIGINT)
    assert rf.open(folder)["run"].status.state == "stopped"


def test_a_stop_request_before_the_script_starts_reaches_it():
    child = _Child()
    child.ask_to_stop()
    # Python is not used, because it exits with status 1 if the signal arrives during startup.
    assert child.run(["sleep", "600"], os.environ) == 128 + signal.SIGINT


def test_sigterm_is_forwarded_to_a_script_that_exits_normally(script):
    folder = script(
        """
        import os, signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(60)
        """
    )
    assert track(folder).returncode == 0
    assert rf.open(folder)["run"].status.state == "killed"


def test_ctrl_c_in_a_terminal_interrupts_a_script_once(script):
    folder = script(
        """
        import os, time
        try:
            os.write(1, b"ready")
            while True:  # an interrupt just before a long sleep would wait for its end
                time.sleep(0.01)
        except KeyboardInterrupt:
            time.sleep(0.5)
            print("saved")
        """
    )
    pid, screen = os.forkpty()
    if pid == 0:
        os.chdir(folder)
        os.execv(RUNFOLD[0], [*RUNFOLD, "run", "--logdir", "run", "--", sys.executable, "train.py"])
    shown = b""
    while b"ready" not in shown:
        shown += os.read(screen, 1000)
    os.write(screen, b"\x03")
    while True:
        try:
            shown += os.read(screen, 1000)
        except OSError:  # Linux's error when the other side has closed
            break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(screen)
    assert b"saved" in shown


@pytest.mark.parametrize("command", [["train.py"], ["-m", "train"]])
def test_the_imported_modules_of_a_script_are_recorded_without_git(script, command):
    folder = script("import package.model")
    (folder / "package").mkdir()
    for name, code in {
        "__init__": "",
        "model": "def build():\n    from .layers import dense",
        "layers": "from . import model; dense = 1",
        "unused": "",
    }.items():
        (folder / "package" / f"{name}.py").write_text(code)
    done = run_apart("run", "--logdir", "run", "--", sys.executable, *command, cwd=folder)
    assert done.returncode == 0, done.stderr
    kept = rf.open(folder / "run")["."].code
    assert kept.script == "train.py"
    names = ["package/__init__.py", "package/layers.py", "package/model.py", "train.py"]
    assert sorted(kept.files) == names
