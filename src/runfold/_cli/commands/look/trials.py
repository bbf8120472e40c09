"""The command `runfold trials`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.commands.look.experiments import print_trials
from runfold._cli.logdir_option import find_logdir
from runfold._cli.terminal import print_json

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
List the trials of an experiment.

They are the runs in its folder, each with its id, which is its own among all
trials of the logdir and stays the same when more appear.

Example:
  runfold trials lr-0.1 --logdir demo-runs

Exit status: 0, or 2 for an experiment or a path that is not there.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument("experiment", metavar="EXPERIMENT", help="An id, a name or its beginning.")
    parser.add_logdir(is_only=True)
    parser.add_json()


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    from runfold._experiments import open_experiments

    one = open_experiments(find_logdir(options)).find(options.experiment)
    if options.json:
        print_json(one.trials)
    else:
        print_trials(one)
    return 0
