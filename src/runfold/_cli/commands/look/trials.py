"""The command `runfold trials`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.commands.look.experiments import add_experiment, print_trials
from runfold._cli.logdir_option import find_logdir
from runfold._cli.terminal import print_json

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
List the trials of an experiment.

Trials are the runs in the experiment's folder. Each has an id that is unique
within the logdir and never changes.

Example:
  runfold trials lr-0.1 --logdir demo-runs

Exit status: 0, or 2 if an experiment or path does not exist.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    add_experiment(parser)
    parser.add_logdir(is_only=True)
    parser.add_json()


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    from runfold._experiments import open_experiments

    experiment = open_experiments(find_logdir(options)).find(options.experiment)
    if options.json:
        print_json(experiment.trials)
    else:
        print_trials(experiment)
    return 0
