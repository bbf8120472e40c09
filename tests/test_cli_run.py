"""The command `runfold run`."""

import sys
import textwrap
from pathlib import Path

import pytest
from cli_runs import run_apart

import runfold as rf


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


def test_a_script_is_tracked_without_a_change(script):
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


def test_a_command_that_is_not_there_is_told(tmp_path):
    done = run_apart("run", "--logdir", "run", "--", "no-such-program", cwd=tmp_path)
    assert done.returncode == 2
    assert "no-such-program: No such file or directory. Nothing was run." in done.stderr
    assert "Traceback" not in done.stderr
