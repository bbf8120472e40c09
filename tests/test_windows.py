"""Reading, tables, reductions, SummaryWriter and commands without POSIX features.

On Windows, the programs run unchanged. Elsewhere, `without_posix.py` removes everything
that Windows lacks, and every result must be the same as on the full system.
"""

import glob
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from helpers.cli_runs import write_kinds
from helpers.logs import hparams, scalars, write

from runfold._cli.commands import POSIX_ONLY, find_commands

TESTS = Path(__file__).parent
WORKFLOW = TESTS.parent / ".github" / "workflows" / "ci.yml"
BARE = ["-m"] if sys.platform == "win32" else [str(TESTS / "helpers" / "without_posix.py")]

# Each command reads the folder `runs` and writes to the folder `out`.
WORKING = [
    ["ls", "runs"],
    ["ls", "runs", "--tags"],
    ["ls", "runs/lr-*"],
    ["check", "runs"],
    ["show", "runs", "lr-0.1/seed-1", "loss"],
    ["show", "runs", "kinds", "picture", "--step", "1", "-o", "out/picture.png"],
    ["table", "runs", "--json"],
    ["sql", "runs", "select run, max(value) as most from scalars group by run order by run"],
    ["reduce", "runs/lr-*", "--by", "lr", "-o", "out/folded/", "-o", "out/folded.csv"],
    ["compare", "runs/lr-*", "--by", "lr", "--tag", "loss"],
    ["diff", "runs", "lr-0.1/seed-0", "lr-0.1/seed-1"],
    ["plot", "runs/lr-*", "--by", "lr", "-o", "out/folded.png"],
    ["plot", "runs/lr-*", "--by", "lr"],
    ["export", "runs", "-o", "out/all/"],
]

# Reads commands and prints the status and output of each.
RUN_COMMANDS = """
import contextlib, io, json, sys
from runfold._cli import main

done = []
for command in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(command)
    done.append([status, out.getvalue(), err.getvalue()])
json.dump(done, sys.stdout)
"""

RUN_PROCESS = """
import sys
from runfold._cli import main

sys.argv[1:] = ["ls", "runs"]
sys.exit(main())
"""

WRITE_AND_READ = r"""
import numpy as np
import runfold as rf

with rf.SummaryWriter("written/run", hparams={"lr": 0.1}) as writer:
    for step in range(1000):
        writer.add_scalar("loss", 1 / (step + 1), step)
    writer.add_text("note", "one\r\ntwo\n\x1athree")
    writer.add_image("picture", np.zeros((3, 4, 4), np.uint8))
    writer.flush()
runs = rf.open("written")
assert list(runs) == ["run"]
assert runs["run"]["loss"].values.tolist() == [np.float32(1 / (n + 1)) for n in range(1000)]
assert runs.text()["text"].tolist() == ["one\r\ntwo\n\x1athree"]
assert runs.images()["image"][0].pil().size == (4, 4)
assert runs.table()["lr"].tolist() == [0.1]
assert not len(runs.problems())
with rf.SummaryWriter("written/run") as writer:
    writer.add_scalar("loss", 0.5, 1000)
runs.refresh()
assert runs.scalars(tags="loss")["value"].iloc[-1] == 0.5
try:
    rf.track("written/tracked")
except rf.errors.CannotLog as error:
    print(error)
"""


def run_program(
    program: str, folder: Path, text: str = "", is_bare: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a folder, without POSIX features if `is_bare`; it must succeed."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *(BARE if is_bare else ["-m"]), "program"],
        cwd=folder,
        input=text,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done


def write_runs(folder: Path) -> Path:
    """Write a folder with reproducible logs."""
    for rate in (0.1, 0.01):
        for seed in range(3):
            curve = [(step, rate * step + seed) for step in range(20)]
            run = folder / "runs" / f"lr-{rate}" / f"seed-{seed}"
            write(run, hparams(lr=rate, seed=seed), scalars("loss", *curve))
    write_kinds(folder / "runs" / "kinds")
    (folder / "out").mkdir()
    return folder


def read_outputs(folder: Path) -> dict[str, bytes | None]:
    """Return the files that commands wrote, with the content of those that contain no times."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.suffix == ".csv" else None
        for path in sorted((folder / "out").rglob("*"))
        if path.is_file() and "tfevents" not in path.name
    }


def test_commands_do_the_same_without_posix(tmp_path):
    whole, bare = write_runs(tmp_path / "whole"), write_runs(tmp_path / "bare")
    commands = json.dumps(WORKING)
    expected = json.loads(run_program(RUN_COMMANDS, whole, commands, is_bare=False).stdout)
    assert [status for status, *_ in expected] == [0] * len(WORKING)
    assert json.loads(run_program(RUN_COMMANDS, bare, commands).stdout) == expected
    assert read_outputs(bare) == read_outputs(whole)


def test_a_command_runs_as_a_process_without_posix(tmp_path):
    done = run_program(RUN_PROCESS, write_runs(tmp_path))
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == [
        "kinds",
        *(f"lr-{rate}/seed-{seed}" for rate in ("0.01", "0.1") for seed in range(3)),
    ]


def test_summary_writer_writes_what_is_read_back_without_posix(tmp_path):
    assert run_program(WRITE_AND_READ, tmp_path).stdout == (
        "rf.track does not work on Windows. Use runfold.SummaryWriter.\n"
    )


def test_other_commands_report_that_windows_is_not_supported(tmp_path):
    assert set(POSIX_ONLY) < set(find_commands())
    commands = [[name, "--help"] for name in POSIX_ONLY]
    assert json.loads(run_program(RUN_COMMANDS, tmp_path, json.dumps(commands)).stdout) == [
        [
            2,
            "",
            f"`runfold {name}` does not work on Windows. Use the Windows Subsystem for Linux.\n",
        ]
        for name in POSIX_ONLY
    ]


def test_every_path_in_the_workflow_exists():
    workflow = WORKFLOW.read_text(encoding="utf-8")
    patterns = re.findall(r"\btests/[\w*./-]+", workflow)
    assert patterns
    root = WORKFLOW.parents[2]
    assert [pattern for pattern in patterns if not glob.glob(pattern, root_dir=root)] == []
