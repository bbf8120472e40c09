"""Commands with actions, such as `runfold experiments list`."""

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
    """An action's help, its options, and the function that returns its exit status."""

    help: str
    add_arguments: Callable[[Parser], object]
    run: Callable[[argparse.Namespace], int]


def add_actions(parser: Parser, actions: Mapping[str, Action]) -> None:
    """Declare the actions and their options. The first action is the default."""
    subparsers = parser.add_subparsers(
        title="Actions",
        prog=parser.prog,
        dest="name",
        metavar="ACTION",
        parser_class=type(parser),
    )
    for name, action in actions.items():
        summary = action.help.partition("\n")[0]
        subparser = subparsers.add_parser(name, help=summary, description=action.help)
        action.add_arguments(subparser)
        subparser.add_help_option()
        subparser.set_defaults(run=action.run)


def name_action(argv: Sequence[str], actions: Sequence[str]) -> list[str]:
    """Return the arguments with an action first. Raises CommandError for an unknown action."""
    first = argv[0] if argv else ""
    if first == "ls":  # as in `runfold ls` and many other programs
        return ["list", *argv[1:]]
    if first in (*actions, "-h", "--help"):
        return list(argv)
    if first and not first.startswith("-"):
        raise CommandError(not_one_of("The action", first, actions))
    return [actions[0], *argv]
