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
Train a small ensemble and look at its logs.

A NumPy network learns to tell two spirals apart, with 2 learning rates x 5
seeds, in a few seconds. Its logs hold scalars, histograms, images, text and
hparams, for you to try everything on. Then come the list of runs, the check
for problems, a table with a row a run, and a query in SQL. At last the seeds
of each learning rate are folded into one curve, in DIR-reduced: event files, a
CSV file and a picture, and the two learning rates are compared.

Example:
  runfold demo demo-runs

Exit status: 0, or 2 where the folder holds something that is not the demo's.
"""

RATES = (0.01, 0.1)
SEEDS = range(5)

_MARK = "Made by `runfold demo`, which may replace what it wrote here.\n"
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
        help="Where the runs go: a new or empty folder, or one that an earlier demo made."
        " Default: demo-runs.",
    )


def run(options: argparse.Namespace) -> int:
    """Train, then show the logs."""
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
    """Make the folder and mark it as the demo's, unless it holds something else already."""
    marker = os.path.join(folder, DEMO_SUFFIX)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise CommandError(f"{escape(folder)} is a file. Name a folder.")
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(marker):
        raise CommandError(
            f"{escape(folder)} is not empty and not from an earlier demo."
            " Name another folder: `runfold demo DIR`."
        )
    os.makedirs(folder, exist_ok=True)
    with open(marker, "w", encoding="utf-8") as file:
        file.write(_MARK)


def prepare_folder(folder: str) -> None:
    """Make the folder, or clear it of an earlier demo's event files and nothing else."""
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

    note(f"Training {len(RATES)} learning rates x {len(SEEDS)} seeds into {escape(folder)}")
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
    # `make demo` has the command in a virtual environment that nobody has activated.
    programs = as_typed(os.path.dirname(sys.executable))
    path = "" if shutil.which("runfold") else f'  export PATH={programs}:"$PATH"\n'
    return f"""\
Next, try:
{path}  runfold serve {folder}   # all of it in the browser, live
  runfold tensorboard start {experiment} --logdir {folder}   # real TensorBoard, of these alone
  runfold show {folder} {run} val/accuracy
  runfold show {folder} {run} boundary
  runfold ls --tags {folder}
  runfold table {folder} --where "lr == 0.1 and last['val/loss'] < 0.005"
  runfold diff {folder}/{_name(RATES[0], SEEDS[0])} {folder}/{run}
  python -c 'import runfold as rf; print(rf.open("{plain}").scalars(tags="val/*"))'
  runfold plot {folder} --by lr --tag train/loss --log-y --smooth 0.9
  tensorboard --logdir {reduced}   # the bands are on its page CUSTOM SCALARS"""
