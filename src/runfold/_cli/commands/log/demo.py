"""The command `runfold demo`."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError, as_typed, note
from runfold._conventions import DEMO_SUFFIX
from runfold._humanize import escape, human_duration

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Train a small ensemble and explore its logs.

In a few seconds, trains a NumPy network to separate two spirals, with 2
learning rates x 5 seeds. The logs contain scalars, histograms, images, text and
hparams, so that you can try every command. The demo then lists the runs, checks
them for problems, prints a table with one row per run and runs an SQL query.
Finally, it folds the seeds of each learning rate into one curve, written to
DIR-reduced as event files, a CSV file and a picture, and compares the two
learning rates.

Example:
  runfold demo demo-runs

Exit status: 0, or 2 if the folder contains files that are not from a demo.
"""

RATES = (0.01, 0.1)
SEEDS = range(5)

_MARK = "Created by `runfold demo`, which may overwrite its own files here.\n"
_QUERY = (
    "select hparams['lr'] as lr, count(distinct run) as runs, min(value) as lowest"
    " from scalars join runs using (run) where tag = 'val/loss' group by lr order by lowest"
)


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "folder",
        nargs="?",
        default="demo-runs",
        metavar="DIR",
        help="Folder for the runs: new, empty, or from an earlier demo. Default: demo-runs.",
    )


def run(options: argparse.Namespace) -> int:
    """Train, then run some commands on the logs."""
    from runfold._cli import run_command

    folder = options.folder.rstrip(os.sep) or options.folder
    reduced = f"{folder}-reduced"
    prepare_folder(folder)
    claim_folder(reduced)
    _train_all(folder)
    status = 0
    for command in (
        ["ls", folder],
        ["check", folder],
        ["table", folder, "--columns", "status,lr,seed,val/*,best val/loss", "--sort", "val/loss"],
        ["sql", folder, _QUERY],
        ["reduce", folder, "--by", "lr", "-o", f"{reduced}/", "-o", f"{reduced}/curves.csv", "-f"],
        ["plot", folder, "--by", "lr", "--tag", "val/*", "-o", f"{reduced}/val.png", "-f"],
        ["compare", folder, "--by", "lr", "--tag", "val/loss"],
    ):
        print(f"\n$ runfold {as_typed(*command)}")
        status = status or run_command(command)
    print(f"\n{_next_steps(folder, reduced)}")
    return status


def claim_folder(folder: str) -> None:
    """Create a folder for the demo. Raises CommandError if it contains anything else."""
    marker = os.path.join(folder, DEMO_SUFFIX)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise CommandError(f"{escape(folder)} is a file. Specify a folder.")
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(marker):
        raise CommandError(
            f"{escape(folder)} is not empty and not from an earlier demo."
            " Choose another folder: `runfold demo DIR`."
        )
    os.makedirs(folder, exist_ok=True)
    with open(marker, "w", encoding="utf-8") as file:
        file.write(_MARK)


def prepare_folder(folder: str) -> None:
    """Create the folder, or delete only an earlier demo's event files from it."""
    claim_folder(folder)
    for rate in RATES:
        for seed in SEEDS:
            run_folder = os.path.join(folder, _name(rate, seed))
            for name in os.listdir(run_folder) if os.path.isdir(run_folder) else []:
                if name.endswith(DEMO_SUFFIX):
                    os.remove(os.path.join(run_folder, name))


def _name(rate: float, seed: int) -> str:
    return f"lr-{rate:g}/seed-{seed}"


def _train_all(folder: str) -> None:
    from runfold._cli.demo_training import train

    note(
        f"Training {len(RATES) * len(SEEDS)} networks ({len(RATES)} learning rates x {len(SEEDS)}"
        f" seeds); logs go to {escape(folder)}"
    )
    start = time.perf_counter()
    for rate in RATES:
        for seed in SEEDS:
            name = _name(rate, seed)
            accuracy = train(os.path.join(folder, name), rate, seed)
            note(f"  {name:<16} val/accuracy {accuracy:.3f}")
    note(f"Trained in {human_duration(time.perf_counter() - start)}.")


def _next_steps(folder: str, reduced: str) -> str:
    run = _name(RATES[-1], SEEDS[0])
    experiment = run.partition("/")[0]
    plain, folder, reduced = escape(folder), as_typed(folder), as_typed(reduced)
    # `make demo` runs in a virtual environment that the user's shell has not activated.
    programs = as_typed(os.path.dirname(sys.executable))
    path = "" if shutil.which("runfold") else f'  export PATH={programs}:"$PATH"\n'
    return f"""\
Next, try:
{path}  runfold serve {folder}   # everything in the browser, live
  runfold tensorboard start {experiment} --logdir {folder}   # real TensorBoard, only these runs
  runfold show {folder} {run} val/accuracy
  runfold show {folder} {run} boundary
  runfold ls --tags {folder}
  runfold table {folder} --where "lr == 0.1 and last['val/loss'] < 0.005"
  runfold diff {folder}/{_name(RATES[0], SEEDS[0])} {folder}/{run}
  python -c 'import runfold as rf; print(rf.open("{plain}").scalars(tags="val/*"))'
  runfold plot {folder} --by lr --tag train/loss --log-y --smooth 0.9
  tensorboard --logdir {reduced}   # the bands are on the CUSTOM SCALARS page"""
