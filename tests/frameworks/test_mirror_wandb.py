"""A tracked run with mirror="wandb" arrives in a W&B run, and W&B never stops training."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
from tracker_logs import (
    ENVIRONMENT,
    SECONDS,
    WandbRun,
    read_wandb,
    read_wandb_records,
    run_program,
)

import runfold as rf

POINTS = [(step, pytest.approx(1 / (step + 1))) for step in range(20)]

HEAD = """
    import os, sys
    import numpy as np
    import runfold as rf

    OPTIONS = dict(code=False, system=False)

    def track(*arguments, **options):
        return rf.track(*arguments, **OPTIONS, **options)

    def log(run, steps):
        for step in steps:
            run.log({"train/loss": 1 / (step + 1)}, step)
"""


STOP = """
    rf.stop('runs/a', wait=False)
    while not run.should_stop: pass
    run.fail(0, 'stopped')
"""


def run_mirrored(folder: Path, code: str) -> list[WandbRun]:
    """Run code after HEAD, and return the runs that W&B stored."""
    errors = run_program(folder, f"{HEAD}\n{code}")
    assert "Warning" not in errors, errors
    return read_wandb(folder)


def read_exit_codes(folder: Path) -> list[int]:
    """Return the exit codes of the W&B runs in a folder that have ended."""
    return [
        record.exit.exit_code
        for records in read_wandb_records(folder)
        for record in records
        if record.WhichOneof("record_type") == "exit"
    ]


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of the W&B run in a folder."""
    (records,) = read_wandb_records(folder)
    return {
        item.key or ".".join(item.nested_key): json.loads(item.value_json)
        for record in records
        for item in (*record.run.config.update, *record.config.update)
    }


def test_scalars_media_hparams_and_status_arrive(tmp_path: Path) -> None:
    """Every kind that W&B supports arrives with the tag and step in the event file."""
    code = """
    with track("runs/a", hparams={"lr": 0.5, "net": {"width": 3}}, mirror="wandb") as run:
        log(run, range(20))
        run.add_scalar("inf", float("inf"), 7)
        run.add_image("picture", np.full((3, 6, 5), 0.5, np.float32), 2)
        run.add_images("pictures", np.full((2, 3, 4, 4), 0.25, np.float32), 2)
        run.add_audio("tone", np.zeros(800, np.float32), 3, sample_rate=8000)
        run.add_video("clip", np.arange(8, dtype=np.uint8).reshape(1, 8, 1, 1, 1)
                      * np.full((1, 8, 3, 4, 4), 20, np.uint8), 4)
        run.add_text("note", "<b> & c", 5)
        run.add_histogram("weights", np.arange(100.0), 6)
        run.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.7, 0.9]), 8)
    """
    (run,) = run_mirrored(tmp_path, code)
    assert run.series["train/loss"] == POINTS
    assert run.series["inf"] == [(7, float("inf"))]
    types = {(step, tag): value for (step, tag), value in run.values.items() if "_type" in tag}
    assert types == {
        (2, "picture/_type"): "image-file",
        (2, "pictures/_type"): "image-file",
        (3, "tone/_type"): "audio-file",
        (4, "clip/_type"): "video-file",
        (5, "note/_type"): "html-file",
        (6, "weights/_type"): "histogram",
        (8, "pr_table/_type"): "table-file",
    }
    assert sum(run.values[6, "weights/values"]) == 100
    files = {
        row[key]: run.folder / "files" / row[key]
        for row in run.rows
        for key in row
        if key.endswith("/path")
    }
    texts = [path.read_text() for name, path in files.items() if name.endswith(".html")]
    assert texts == ["<pre style='white-space: pre-wrap'>&lt;b&gt; &amp; c</pre>"]
    (tone,) = (path for name, path in files.items() if name.endswith(".wav"))
    assert len(tone.read_bytes()) == 44 + 2 * 800
    pictures = [path for name, path in files.items() if "/picture_" in name]
    image = PIL.Image.open(io.BytesIO(pictures[0].read_bytes()))
    assert (image.size, image.convert("RGB").getpixel((0, 0))) == ((5, 6), (127, 127, 127))
    config = read_config(tmp_path)
    assert (config["lr"], config["net.width"]) == (0.5, 3)
    assert read_exit_codes(tmp_path) == [0]
    assert rf.open(tmp_path / "runs")["a"]["train/loss"].steps.tolist() == list(range(20))


@pytest.mark.parametrize(
    ("array", "count"),
    [("normal", 100_000), ("normal**9", 100_000), ("np.array([-1e-11, 1e11])", 2)],
    ids=["normal", "long tails", "two points"],
)
def test_a_histogram_of_a_signed_tensor_arrives(tmp_path: Path, array: str, count: int) -> None:
    """W&B accepts 512 bins; TensorBoard's histograms have up to 1,549."""
    code = f"""
    normal = np.random.default_rng(0).standard_normal(100_000)
    array = {array}
    with track("runs/a", mirror="wandb") as run:
        run.add_histogram("gradient", array, 0)
    """
    (run,) = run_mirrored(tmp_path, code)
    counts, edges = (run.values[0, f"gradient/{name}"] for name in ("values", "bins"))
    assert len(counts) + 1 == len(edges) <= 513
    assert edges == sorted(set(edges))
    assert (sum(counts), counts[0] > 0, counts[-1] > 0) == (count, True, True)


def test_tags_named_like_columns_of_wandb_get_a_suffix(tmp_path: Path) -> None:
    """Otherwise they would overwrite the step or the time, or W&B would drop them."""
    code = """
    with track("runs/a", mirror="wandb") as run:
        for name in ("global_step", "_step", "_timestamp", "_runtime", "_other"):
            run.add_scalar(name, 0.5, 7)
    """
    (run,) = run_mirrored(tmp_path, code)
    (row,) = run.rows
    names = ("global_step_", "_step_", "_timestamp_", "_runtime_", "_other")
    assert [row[name] for name in names] == [0.5] * 5
    assert (row["global_step"], row["_step"]) == (7, 0)
    assert row["_timestamp"] > 1e9


@pytest.mark.parametrize(
    ("end", "exit_code"),
    [
        ("run.close()", 0),
        ("pass", 0),
        ("sys.exit(0)", 0),
        ("run.fail(7)\n    run.close()", 7),
        (STOP, 0),
    ],
    ids=["closed", "left open", "exit 0", "failed", "stopped"],
)
def test_the_status_becomes_the_exit_code(tmp_path: Path, end: str, exit_code: int) -> None:
    """Every point arrives, even if the program ends without closing the run."""
    code = f"""
    run = track("runs/a", mirror="wandb", on_stop=print)
    log(run, range(20))
    {end}
    """
    (run,) = run_mirrored(tmp_path, code)
    assert run.series == {"train/loss": POINTS}
    assert read_exit_codes(tmp_path) == [exit_code]


@pytest.mark.parametrize("is_block", [True, False], ids=["with block", "left open"])
def test_an_exception_fails_the_wandb_run(tmp_path: Path, is_block: bool) -> None:
    """It does not matter whether the exception leaves a `with` block."""
    start = (
        "with track('runs/a', mirror='wandb') as run:"
        if is_block
        else ("run = track('runs/a', mirror='wandb')\n    if True:")
    )
    code = f"""
    {start}
        log(run, range(20))
        raise ValueError("the data is gone")
    """
    errors = run_program(tmp_path, f"{HEAD}\n{code}", status=1)
    assert "ValueError: the data is gone" in errors
    (run,) = read_wandb(tmp_path)
    assert run.series == {"train/loss": POINTS}
    assert read_exit_codes(tmp_path) == [1]


def test_each_of_two_runs_has_its_own_wandb_run(tmp_path: Path) -> None:
    """They are open at the same time, and one of them has options."""
    code = """
    first = track("runs/a", mirror="wandb")
    second = track("runs/b", mirror={"project": "p", "name": "other", "group": "g"})
    for step in range(20):
        first.log({"loss/0": 1 / (step + 1)}, step)
        second.log({"loss/1": 1 / (step + 1)}, step)
    second.close()
    first.close()
    """
    runs = run_mirrored(tmp_path, code)
    series = sorted((run.series for run in runs), key=str)
    assert series == [{"loss/0": POINTS}, {"loss/1": POINTS}]
    names = {
        (record.run.display_name, record.run.run_group)
        for records in read_wandb_records(tmp_path)
        for record in records
        if record.WhichOneof("record_type") == "run"
    }
    assert names == {("a", ""), ("other", "g")}


@pytest.mark.parametrize(
    ("given", "options"),
    [("'wandb'", "sync_tensorboard=True"), ("active", "")],
    ids=["active run with sync", "given run"],
)
def test_an_existing_wandb_run_is_used_and_stays_open(
    tmp_path: Path, given: str, options: str
) -> None:
    """W&B's sync of TensorBoard data does not send the same data again."""
    code = f"""
    import wandb
    active = wandb.init(project="p", {options})
    with track("runs/a", mirror={given}) as run:
        log(run, range(20))
    active.log({{"after": 1.0, "global_step": 3}})
    active.finish(exit_code=4)
    """
    (run,) = run_mirrored(tmp_path, code)
    assert run.series == {"train/loss": POINTS, "after": [(3, 1.0)]}
    assert read_exit_codes(tmp_path) == [4]


@pytest.mark.parametrize("given", ["'wandb'", "active"], ids=["active run", "given run"])
def test_a_finished_wandb_run_has_the_points_logged_before(tmp_path: Path, given: str) -> None:
    """The program finishes its W&B run inside the block; later points are reported as missing."""
    code = f"""
    import wandb
    active = wandb.init(project="p")
    with track("runs/a", mirror={given}) as run:
        log(run, range(20))
        wandb.finish()
        {{more}}
    """
    tmp_path.joinpath("1").mkdir()
    (run,) = run_mirrored(tmp_path / "1", code.format(more=""))
    assert run.series == {"train/loss": POINTS}
    tmp_path.joinpath("2").mkdir()
    errors = run_program(tmp_path / "2", f"{HEAD}\n{code.format(more='log(run, [20])')}")
    assert errors.count("UserWarning: W&B did not receive everything") == 1
    (run,) = read_wandb(tmp_path / "2")
    assert run.series == {"train/loss": POINTS}


def test_a_resumed_run_continues_the_wandb_run(tmp_path: Path) -> None:
    """The first program is killed; the second one sends only what it logs."""
    code = """
    run = track("runs/a", mirror="wandb", resume={resume})
    log(run, range({steps}))
    run.flush()
    from runfold._log.trackers import followed_files
    followed_files.settle()
    {end}
    """
    first = code.format(resume=False, steps="10", end="os.kill(os.getpid(), 9)")
    run_program(tmp_path, f"{HEAD}\n{first}", status=-9)
    run_mirrored(tmp_path, code.format(resume=True, steps="10, 20", end="run.close()"))
    identities = {
        record.run.run_id
        for records in read_wandb_records(tmp_path)
        for record in records
        if record.WhichOneof("record_type") == "run"
    }
    assert len(identities) == 1
    # The first W&B run may lack what W&B had not written when it was killed.
    assert read_wandb(tmp_path)[-1].series == {"train/loss": POINTS[10:]}


def test_a_forked_process_leaves_the_wandb_run_to_its_parent(tmp_path: Path) -> None:
    """The child logs to its own event file."""
    code = """
    import multiprocessing
    run = track("runs/a", mirror="wandb")
    log(run, range(10))
    run.flush()

    def work():
        run.log({"child": 1.0}, 0)
        run.close()

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    log(run, range(10, 20))
    run.close()
    """
    (run,) = run_mirrored(tmp_path, code)
    assert run.series == {"train/loss": POINTS}
    assert rf.open(tmp_path / "runs")["a"]["child"].values.tolist() == [1.0]


def test_a_program_under_runfold_run_is_mirrored(tmp_path: Path) -> None:
    """The run's status is recorded by `runfold run`; the exit code is the program's."""
    tmp_path.joinpath("train.py").write_text(
        "import runfold as rf\n"
        "with rf.track(mirror='wandb') as run:\n"
        "    for step in range(20):\n"
        "        run.log({'train/loss': 1 / (step + 1)}, step)\n"
    )
    code = """
    import subprocess
    command = [sys.executable, "-m", "runfold", "run", "--logdir", "runs/a", "--no-code",
               "--no-system", "--", sys.executable, "train.py"]
    subprocess.run(command, check=True)
    """
    (run,) = run_mirrored(tmp_path, code)
    assert run.series == {"train/loss": POINTS}
    assert read_exit_codes(tmp_path) == [0]


def test_an_adapter_is_mirrored(tmp_path: Path) -> None:
    """Adapters pass their options to `rf.track`, and W&B's own sync sees them too."""
    code = """
    import xgboost as xgb
    from runfold.integrations.xgboost import RunfoldCallback
    data = xgb.DMatrix(np.arange(20.0).reshape(10, 2), np.arange(10.0))

    def train(**options):
        callback = RunfoldCallback("runs", name="a", **OPTIONS, **options)
        xgb.train({"max_depth": 2}, data, 3, evals=[(data, "train")], callbacks=[callback],
                  verbose_eval=False)

    train(mirror="wandb")
    import wandb
    wandb.init(project="p", sync_tensorboard=True)
    train(resume=True)
    wandb.finish()
    """
    mirrored, synced = run_mirrored(tmp_path, code)
    assert [step for step, _ in mirrored.series["train/rmse"]] == [0, 1, 2]
    errors = [pytest.approx(error, rel=1e-5) for _, error in mirrored.series["train/rmse"]]
    assert synced.series["train/rmse"] == list(enumerate(errors))


BROKEN = {
    "missing": "sys.modules['wandb'] = None",
    "no account": "os.environ['WANDB_MODE'] = 'online'\n    os.environ['NETRC'] = 'none'",
    "raises": """
    import wandb
    class Broken:
        config = {}
        def define_metric(self, *names, **options): pass
        def log(self, row): raise OSError(28, "No space left on device")
    given = Broken()
    """,
    "exits": """
    import wandb
    def leave(**options): sys.exit(3)
    wandb.init = leave
    """,
    "exits while logging": """
    import wandb
    class Leaving:
        config = {}
        def define_metric(self, *names, **options): pass
        def log(self, row): sys.exit(3)
    given = Leaving()
    """,
    "hangs": """
    import threading, wandb
    from runfold._log.trackers import followed_files
    followed_files.PATIENCE = 0.5
    wandb.init = lambda **options: threading.Event().wait()
    """,
}


@pytest.mark.parametrize("problem", BROKEN)
def test_a_failing_wandb_causes_one_warning_and_a_complete_event_file(
    tmp_path: Path, problem: str
) -> None:
    """If W&B hangs, the warning at the end of the program reports how many values are missing."""
    code = f"""
    given = "wandb"
    {BROKEN[problem]}
    with track("runs/a", mirror=given) as run:
        log(run, range(10))
        run.flush()
        log(run, range(10, 20))
    print("done", file=sys.stderr)
    """
    errors = run_program(tmp_path, f"{HEAD}\n{code}")
    assert errors.count("UserWarning: W&B did not receive everything") == (problem != "hangs")
    assert errors.count("received the last 20 values that were logged") == (problem == "hangs")
    assert "done" in errors
    run = rf.open(tmp_path / "runs")["a"]
    assert run["train/loss"].steps.tolist() == list(range(20))
    assert run.status.state == "finished"


def test_the_number_of_values_in_a_backlog_is_reported(tmp_path: Path) -> None:
    """W&B has received some values when the wait at the end of the program is over."""
    code = """
    import threading, wandb
    from runfold._log.trackers import followed_files
    followed_files.PATIENCE = 0.5
    has_received = threading.Event()

    class Slow:
        config = {}
        rows = []
        def define_metric(self, *names, **options): pass
        def log(self, row):
            self.rows.append(row)
            if len(self.rows) > 4:
                has_received.set()
                threading.Event().wait()

    run = track("runs/a", mirror=Slow())
    log(run, range(20))
    run.flush()
    has_received.wait()
    """
    errors = run_program(tmp_path, f"{HEAD}\n{code}")
    # The fifth row is sent when the sixth has been read.
    assert "The program ended before W&B received the last 14 values that were logged" in errors


def test_programs_wait_only_once_for_wandb_that_hangs(tmp_path: Path) -> None:
    """Each further `close` returns immediately."""
    code = """
    import threading, wandb
    from runfold._log.trackers import followed_files
    followed_files.PATIENCE = 0.53
    wandb.init = lambda **options: threading.Event().wait()
    waits, wait_for = [], threading.Condition.wait_for

    def record(condition, predicate, timeout=None):
        waits.append(timeout)
        return wait_for(condition, predicate, timeout)

    threading.Condition.wait_for = record
    for name in "abc":
        with track(f"runs/{name}", mirror="wandb") as run:
            log(run, range(3))
    print("waits:", waits.count(0.53), file=sys.stderr)
    """
    assert "waits: 1\n" in run_program(tmp_path, f"{HEAD}\n{code}")


def test_programs_wait_again_for_wandb_that_is_slow(tmp_path: Path) -> None:
    """The second `close` waits too, because W&B has received rows during the first one."""
    code = """
    import threading, wandb
    from runfold._log.trackers import followed_files
    followed_files.PATIENCE = 0.53
    is_closing, has_received = threading.Event(), threading.Event()

    class Slow:
        config = {}
        rows = []
        def define_metric(self, *names, **options): pass
        def log(self, row):
            self.rows.append(row)
            if len(self.rows) == 5:
                is_closing.wait()
            elif len(self.rows) == 10:
                has_received.set()
                with followed_files._follower._condition:
                    followed_files._follower._condition.notify_all()
                threading.Event().wait()

    waits, wait_for = [], threading.Condition.wait_for

    def record(condition, predicate, timeout=None):
        waits.append(timeout)
        if timeout == 0.53:
            is_closing.set()
            wait_for(condition, has_received.is_set)
        return wait_for(condition, predicate, timeout)

    threading.Condition.wait_for = record
    for name in "abc":
        with track(f"runs/{name}", mirror=Slow()) as run:
            log(run, range(20))
    print("waits:", waits.count(0.53), file=sys.stderr)
    """
    assert "waits: 2\n" in run_program(tmp_path, f"{HEAD}\n{code}")


def test_later_runs_skip_a_server_that_does_not_answer(tmp_path: Path) -> None:
    """The start of a W&B run has a short time limit, unless the options contain one."""
    code = """
    import wandb
    problem = "refused"

    def init(settings, **options):
        limit = settings["init_timeout"] if isinstance(settings, dict) else settings.init_timeout
        print("limit:", limit, file=sys.stderr)
        raise wandb.errors.CommError(problem)

    wandb.init = init
    options = [None, {"init_timeout": 30}, wandb.Settings(init_timeout=40), wandb.Settings()]
    for number, settings in enumerate(options):
        with track(f"runs/{number}", mirror={"settings": settings}) as run:
            log(run, range(3))
    problem = "Timed out initializing run"
    for name in "abc":
        with track(f"runs/{name}", mirror="wandb") as run:
            log(run, range(3))
    """
    errors = run_program(tmp_path, f"{HEAD}\n{code}")
    limits = [line for line in errors.splitlines() if line.startswith("limit")]
    assert [float(line.split()[1]) for line in limits] == [10, 30, 40, 10, 10]
    assert "the server did not answer when an earlier run was started" in errors


def test_wandb_does_not_read_from_the_terminal(tmp_path: Path) -> None:
    """Without an API key, the line that the user types goes to the program."""
    code = """
    from runfold._log.trackers import followed_files
    followed_files.PATIENCE = 5
    with track("runs/a", mirror="wandb") as run:
        log(run, range(2))
        followed_files.settle()
        print("answer:", input())
    """
    output = run_on_terminal(tmp_path, code, "hello\n")
    assert "answer: hello" in output
    assert "Enter your choice" not in output
    assert "No API key configured" in output


def run_on_terminal(folder: Path, code: str, text: str) -> str:
    """Run code after HEAD on a terminal where a user types a line, and return the output."""
    program = folder / "program.py"
    program.write_text(textwrap.dedent(f"{HEAD}\n{code}"))
    terminal, end = pty.openpty()
    options = {"WANDB_MODE": "online", "WANDB_SILENT": "false", "NETRC": "none", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, program.name],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, "HOME": str(folder), **options},
        stdin=end,
        stdout=end,
        stderr=end,
    )
    os.close(end)
    os.write(terminal, text.encode())
    limit = threading.Timer(SECONDS, process.kill)
    limit.start()
    output = b""
    try:
        while data := _read_terminal(terminal):
            output += data
        process.wait()
    finally:
        limit.cancel()
        os.close(terminal)
    return output.decode(errors="replace")


def _read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the program has ended
        return b""


@pytest.mark.parametrize("value", ["mlflow", 3], ids=str)
def test_an_unknown_mirror_is_an_error(tmp_path: Path, value: Any) -> None:
    """The error is raised before the run starts."""
    with pytest.raises((TypeError, ValueError), match="mirror: expected 'wandb'"):
        rf.track(tmp_path / "a", mirror=value)
    assert not list(tmp_path.iterdir())
