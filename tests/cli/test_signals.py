"""Every command ends quietly within a second of Ctrl-C or SIGTERM, without partial output."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from helpers.cli_runs import RUNFOLD, START
from helpers.servers import serving

from runfold._cli.commands import find_commands
from runfold._core.encoder import EventBuffer
from runfold._log.track.tracker import Tracker

SIGNALS = [signal.SIGINT, signal.SIGTERM]
# Commands end within a second, but a loaded machine gets more time before a test fails.
SECONDS = 120
# Each command gets signals at its first event and at this many others, spread evenly.
# `RUNFOLD_MOMENTS=50` tries more.
MOMENTS = int(os.environ.get("RUNFOLD_MOMENTS", "2"))
REDUCER = "tensorboard_reducer"
ENDLESS = "select sum((a.range * b.range) % 7) from range(2000000) a, range(2000000) b"

# Each command reads the folder that `logs` creates, and writes below `out`.
LINES = {
    "ls": "ls --tags runs",
    "check": "check runs",
    "show": "show runs a train/loss",
    "table": "table runs --best * -o out/table.csv",
    "sql": "sql runs -o out/rows.csv|select * from scalars order by value",
    "reduce": "reduce runs -r mean,ci95 -o out/reduced/ -o out/reduced.csv",
    "compare": "compare runs --tag train/loss --by seed -o out/compared.csv",
    "diff": "diff runs a b",
    "restore": "restore runs a -o out/code.patch",
    "plot": "plot runs --by parent -o out/plot.png",
    "export": "export runs -o out/everything/",
    "edit": "edit runs --every 10 -o out/edited",
    "repair": "repair broken -o out/sound",
    "pack": "pack runs -o out/runs.parquet",
    "unpack": "unpack runs.parquet -o out/unpacked",
    "report": "report runs -o out/report.html",
    "tensorboard": "tensorboard list --all",
    "experiments": "experiments list --logdir runs",
    "trials": "trials a --logdir runs",
    "stop": "stop a --logdir runs --grace 0",
    "demo": "demo out/demo",
    "serve": "serve runs --port 0 --no-browser",
    "run": "run --logdir out/run -- true",
    REDUCER: "runs/a runs/b -r mean,std -o out/folded",
}

# Runs a command, and sends it a signal at its Nth audit event (an import, an opened file, a
# thread, a system call ...) after its handlers are installed. If N is 0, it counts the events.
AT_EVENT = """if True:
    import itertools, os, signal, sys
    number, moment, module, *sys.argv[1:] = sys.argv[1:]
    number, moment = int(number), int(moment)
    if module == "runfold":
        from runfold._cli import main
    else:
        from runfold.compat.tensorboard_reducer.__main__ import main
    if sys.argv[1] == "demo":
        from runfold._cli import demo_training
        demo_training.STEPS = 40
    standard, is_handled = signal.getsignal(number), False
    events = itertools.count(1)  # threads share it, and none may count past the moment
    def hear(event, details):
        global is_handled
        is_handled = is_handled or signal.getsignal(number) != standard
        if is_handled and next(events) == moment:
            os.kill(os.getpid(), number)
    sys.addaudithook(hear)
    try:
        sys.exit(main())
    finally:
        if not moment:
            print("events", next(events), file=sys.stderr)
"""


def words_of(name: str) -> list[str]:
    line, _, query = LINES[name].partition("|")
    return [*line.split(), *([query] if query else [])]


def write_run(folder: Path, seed: int, steps: int) -> None:
    with Tracker(folder, hparams={"seed": seed}, system=False, code=False):
        pass
    events = EventBuffer()
    events.file_version(START)
    values = np.random.default_rng(seed).random(steps)
    for tag in ("train/loss", "val/loss"):
        events.scalars(tag, np.arange(steps), START + np.arange(steps), values)
    (folder / "events.out.tfevents.2.numbers").write_bytes(events.getvalue())


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signals")
    for seed, name in enumerate("abcd"):
        write_run(folder / "runs" / name, seed, 200)
    shutil.copytree(folder / "runs", folder / "broken")
    with open(folder / "broken/a/events.out.tfevents.2.numbers", "r+b") as file:
        file.seek(1000)
        file.write(b"\xff" * 8)
    pack = [*RUNFOLD, "pack", "runs", "-o", "runs.parquet"]
    subprocess.run(pack, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def folder(logs: Path, tmp_path: Path) -> Path:
    return copy_logs(logs, tmp_path)


def copy_logs(logs: Path, folder: Path) -> Path:
    """Return a fresh copy: files left by a command would change the next command's events."""
    shutil.copytree(logs, folder, dirs_exist_ok=True)
    return folder


def at_event(name: str, number: int, moment: int, folder: Path) -> tuple[int, str]:
    module = REDUCER if name == REDUCER else "runfold"
    done = subprocess.run(
        [sys.executable, "-c", AT_EVENT, str(int(number)), str(moment), module, *words_of(name)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={
            **os.environ,
            "XDG_STATE_HOME": str(folder / "state"),
            # Otherwise, the first of several identical commands would have more events.
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    return done.returncode, done.stderr


def drafts(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.endswith((".tmp", ".part"))]


def test_every_command_is_listed() -> None:
    assert set(LINES) == {*find_commands(), REDUCER}


@pytest.mark.fault(76)
@pytest.mark.parametrize("name", [name for name in LINES if name not in ("serve", "run")])
def test_a_signal_at_any_moment_ends_a_command_quietly(
    name: str, logs: Path, tmp_path: Path
) -> None:
    status, notes = at_event(name, signal.SIGINT, 0, copy_logs(logs, tmp_path / "0"))
    assert status in (0, 1, 2), notes
    count = int(notes.split()[-1])
    # Threads make the number of events vary a little. The last quarter is left out, so
    # that every command gets its signal.
    moments = [1, *(count * part * 3 // (MOMENTS * 4) for part in range(1, MOMENTS + 1))]
    for moment, number in zip(moments, itertools.cycle(SIGNALS), strict=False):
        folder = copy_logs(logs, tmp_path / str(moment))
        status, notes = at_event(name, number, moment, folder)
        where = f"{signal.Signals(number).name} at event {moment} of {count}"
        assert (status, "Traceback" in notes) == (128 + number, False), f"{where}: {notes}"
        assert drafts(folder) == [], where


def test_an_interrupt_during_exec_gives_the_same_status(tmp_path: Path) -> None:
    script = """if True:
        import sys
        from runfold._signals import run_process
        line = "import os, signal; os.kill(os.getpid(), signal.SIGINT); signal.pause()"
        sys.exit(run_process(lambda: exec(line)))
    """
    (tmp_path / "interrupted.py").write_text(script)
    # In this case, SIGINT ends only `python -m`, not `python -c`.
    words = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children."""
    try:
        main = psutil.Process(pid)
        times = [process.cpu_times() for process in (main, *main.children())]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(spent.user + spent.system for spent in times)


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RUNFOLD, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until_busy(process: "subprocess.Popen[str]", seconds: float) -> None:
    """Wait until a process has used some CPU time; fail if it ends earlier."""
    while cpu_seconds(process.pid) < seconds:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def end_after(process: subprocess.Popen[str], number: int, seconds: float) -> tuple[int, str, str]:
    """Send a signal, as a terminal does, once a command has used some CPU time."""
    try:
        wait_until_busy(process, seconds)
        os.killpg(process.pid, number)
        out, notes = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.communicate()
    return process.returncode, out, notes


# DuckDB's native module creates enums while it is imported, and aborts if that raises an
# exception.
IMPORTING_DUCKDB = """
import os, signal, sys
from runfold._cli import main
from runfold._signals import run_process

def interrupt(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "__init__" and "_duckdb" in sys.modules:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.%s)

def work():
    sys.setprofile(interrupt)
    return main(["sql", sys.argv[1], "select 1"])

sys.exit(run_process(work))
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_during_the_import_of_duckdb_ends_a_query_quietly(name: str, folder: Path) -> None:
    words = [sys.executable, "-c", IMPORTING_DUCKDB % name, "runs"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.Signals[name], b"", b"")


@pytest.mark.fault(76)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("limit", [[], ["--limit-seconds", "600"]])
def test_a_signal_ends_an_endless_query(number: int, limit: list[str], folder: Path) -> None:
    process = start(folder, "sql", "runs", *limit, ENDLESS)
    assert end_after(process, number, 1.5) == (128 + number, "", "")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of runs that keep a command busy for several seconds."""
    folder = tmp_path_factory.mktemp("large")
    steps = np.arange(20_000)
    for seed in range(12):
        events = EventBuffer()
        events.file_version(START)
        for tag in "abcdefgh":
            values = np.random.default_rng(seed).random(len(steps))
            events.scalars(tag, steps, START + steps, values)
        run = folder / "runs" / f"seed-{seed}"
        run.mkdir(parents=True)
        (run / "events.out.tfevents.1").write_bytes(events.getvalue())
    return folder


@pytest.mark.fault(76)
@pytest.mark.parametrize("seconds", [0.2, 1.5])
@pytest.mark.parametrize(
    "words",
    [
        ["reduce", "runs", "-r", "mean,ci95", "-o", "out/a/", "-o", "out/a.csv"],
        ["export", "runs", "-o", "out/a.csv.xz"],
        ["plot", "runs", "-r", "iqm,ci95", "-o", "out/a.png"],
    ],
    ids=lambda words: words[0],
)
def test_a_busy_command_ends_and_leaves_no_files(
    words: list[str], seconds: float, large: Path
) -> None:
    status, out, notes = end_after(start(large, *words), signal.SIGINT, seconds)
    assert (status, out, "Traceback" in notes) == (130, "", False), notes
    assert os.listdir(large) == ["runs"]


@pytest.mark.fault(76)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_tracked_command_gets_the_signal(number: int, tmp_path: Path) -> None:
    script = "import signal, sys; print('waiting', flush=True); signal.pause()"
    words = ["run", "--logdir", "run", "--no-code", "--no-system", "--"]
    with start(tmp_path, *words, sys.executable, "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(number)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number


@pytest.mark.fault(76)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_server_ends_during_a_request(number: int, logs: Path) -> None:
    body = json.dumps({"query": ENDLESS})
    with serving(logs / "runs", "--no-login") as served:
        head = [
            "POST /api/sql HTTP/1.1",
            f"Host: 127.0.0.1:{served.port}",
            f"Origin: {served.url}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        with served.connect("\r\n".join([*head, "", body])):
            # A query may take 20 s, and a loaded machine gives it a fraction of a core.
            wait_until_busy(served.process, cpu_seconds(served.process.pid) + 0.5)
            assert served.end(number) == (128 + number, "")


@pytest.mark.fault(76)
@pytest.mark.parametrize("closed", ["stdout", "stderr", "stdin", "all"])
def test_closed_streams_end_a_command_quietly(closed: str, folder: Path) -> None:
    redirections = {"stdout": ">&-", "stderr": "2>&-", "stdin": "<&-", "all": "<&- >&- 2>&-"}
    line = f'exec "$@" {redirections[closed]}'
    done = subprocess.run(
        ["bash", "-c", line, "bash", *RUNFOLD, "ls", "runs"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    # A closed stdout is treated as a closed pipe.
    assert done.returncode == (141 if closed in ("stdout", "all") else 0)
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) == (closed in ("stderr", "stdin"))


def test_files_are_written_although_stdout_is_closed(folder: Path) -> None:
    words = [*RUNFOLD, "pack", "runs", "-o", "copy.parquet"]
    done = subprocess.run(["bash", "-c", 'exec "$@" >&-', "bash", *words], cwd=folder, check=False)
    assert done.returncode == 141
    assert (folder / "copy.parquet").read_bytes() == (folder / "runs.parquet").read_bytes()


PRINTING = [["ls", "runs"], ["ls", "--help"], ["--help"], ["--version"]]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_a_full_disk_for_stdout_is_one_line(
    words: list[str], unbuffered: str, folder: Path
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*RUNFOLD, *words],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    message = "stdout: No space left on device. The output is incomplete.\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_a_closed_pipe_ends_every_command_quietly(
    words: list[str], unbuffered: str, folder: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as closed:
        done = subprocess.run(
            [*RUNFOLD, *words],
            cwd=folder,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")
