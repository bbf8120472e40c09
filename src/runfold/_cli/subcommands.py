"""Commands that have actions of their own, as `runfold experiments list`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError
from runfold._humanize import not_one_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from runfold._cli.parser import Parser


@dataclass(frozen=True, slots=True)
class Action:
    """What an action is for, its options, and its work, which gives the exit status."""

    help: str
    add_arguments: Callable[[Parser], object]
    run: Callable[[argparse.Namespace], int]


def add_actions(parser: Parser, actions: Mapping[str, Action]) -> None:
    """Declare the actions, each with its options; the first is meant where none is named."""
    chosen = parser.add_subparsers(
        title="Actions",
        prog=parser.prog,
        dest="name",
        metavar="ACTION",
        parser_class=type(parser),
    )
    for name, action in actions.items():
        one = chosen.add_parser(name, help=action.help.partition("\n")[0], description=action.help)
        action.add_arguments(one)
        one.add_help_option()
        one.set_defaults(run=action.run)


def name_action(argv: Sequence[str], actions: Sequence[str]) -> list[str]:
    """Arguments that begin with an action. Raises CommandError for one that is not there."""
    first = argv[0] if argv else ""
    if first == "ls":  # as the command itself, and elsewhere, it is called
        return ["list", *argv[1:]]
    if first in (*actions, "-h", "--help"):
        return list(argv)
    if first and not first.startswith("-"):
        raise CommandError(not_one_of("The action", first, actions))
    return [actions[0], *argv]
