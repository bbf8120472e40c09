"""Arguments in, a command and its options out; mistakes end in one line."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

import runfold
from runfold._cli.commands import POSIX_ONLY, find_commands, load_command, summarize_command
from runfold._cli.logdir_option import DEFAULT, find_logdirs
from runfold._cli.terminal import note
from runfold._humanize import did_you_mean
from runfold._storage.url import mask_url
from runfold._system import IS_POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from _typeshed import SupportsWrite

# As in `_logdir.restarts`, which brings NumPy along; a test holds the two together.
POLICIES = ("session", "step", "keep")

# What stands for a list of values in a help text.
_LISTED = re.compile(
    r"\{(formats|rounded_formats|spreadsheet_formats|statistics|centres|spreads)\}"
)

_ABOUT = """\
Make TensorBoard logs useful after training.

Every command takes what you would pass to `tensorboard --logdir`: a tree of
runs, one run, one event file or a glob in quotes. Data goes to stdout, notes to
stderr.
"""

_STATUS = """\
Exit status: 0 success; 1 `check` found problems, or a run continues after
`stop`; 2 a wrong option, path or name; 130 Ctrl-C, 143 SIGTERM, 141 output that
nobody reads.
"""


class Command(Protocol):
    """What a command's module offers."""

    HELP: str

    def add_arguments(self, parser: Parser) -> None:
        """Declare the options."""

    def run(self, options: argparse.Namespace) -> int:
        """Do the work and return the exit status."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line with the near matches."""

    def __init__(self, prog: str, description: str, usage: str | None = None) -> None:
        super().__init__(
            prog,
            usage=usage,
            description=description,
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self._positionals.title = "Arguments"
        self._optionals.title = "Options"

    def add_help_option(self) -> None:
        """Add --help, after the options of the command."""
        self.add_argument("--help", "-h", action="help", help="Show this help and exit.")

    def add_logdirs(self) -> None:
        """Add the paths to read."""
        self.add_argument(
            "logdirs",
            nargs="*",
            metavar="LOGDIR",
            help="A logdir, a run, an event file, a pack, a glob, or the URL of one, such as"
            f" s3://bucket/runs. {DEFAULT}",
        )
        self.add_logdir()

    def add_logdir(self, is_only: bool = False) -> None:
        """Add --logdir, the other or the only way to name the logdir."""
        text = "The logdir." if is_only else "The logdir, instead of an argument."
        self.add_argument(
            "--logdir",
            action="append",
            metavar="LOGDIR",
            help=f"{text} {DEFAULT}",
        )

    def add_restarts(self) -> None:
        """Add the choice of what a restarted job shows."""
        self.add_argument(
            "--restarts",
            choices=POLICIES,
            default="session",
            metavar="POLICY",
            help="What to do with points that a restarted job logged twice: 'session' hides"
            " what the writer's restart marker says, 'step' a series' older branch when its"
            " step goes back, 'keep' nothing. Default: session.",
        )

    def add_where(self) -> None:
        """Add the choice of runs by a condition."""
        self.add_argument(
            "--where",
            metavar="CONDITION",
            help="Only runs for which it holds, such as \"lr < 0.1 and status == 'finished' and"
            " last['val/loss'] < 0.3\"; `runfold table --help` describes the syntax."
            " Default: all runs.",
        )

    def add_json(self) -> None:
        """Add --json."""
        self.add_argument(
            "--json",
            action="store_true",
            help="Print JSON for programs; NaN and infinity become null. Default: off.",
        )

    def add_escape_formulas(self) -> None:
        """Add --escape-formulas."""
        self.add_argument(
            "--escape-formulas",
            action="store_true",
            help="Put a quote before text in {spreadsheet_formats} files that a spreadsheet would"
            " take for a formula. Default: off.",
        )

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print a help or a version. The original ignores errors, such as a full disk."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Complain in one line and exit with status 2."""
        prefix = "unrecognized arguments: "
        hint = ""
        if message.startswith(prefix):
            wrong = message.removeprefix(prefix).split()[0]
            hint = " " + did_you_mean(wrong, self._option_string_actions)
        note(f"{self.prog}: {mask_url(message)}.{hint.rstrip()} See `{self.prog} --help`.")
        sys.exit(2)


def _list_values(name: str) -> str:
    """Return the values that a name in braces stands for, looked up when help is shown."""
    from runfold._export import formats
    from runfold._reduce import statistics

    lists: dict[str, Callable[[], str]] = {
        "formats": formats.describe_formats,
        "rounded_formats": lambda: " and ".join(formats.rounded_formats()),
        "spreadsheet_formats": lambda: ", ".join(formats.spreadsheet_formats()),
        "statistics": statistics.describe_statistics,
        "centres": lambda: ", ".join(statistics.CENTRES),
        "spreads": lambda: ", ".join(statistics.SPREADS),
    }
    return lists[name]()


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Text as written, options wrapped to 80 columns or less."""

    def __init__(self, prog: str) -> None:
        from runfold._cli.terminal import width

        super().__init__(prog, max_help_position=22, width=min(width() or 80, 80))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        """Return the help of an option, with the values that a name in braces stands for."""
        return action.help and _LISTED.sub(lambda found: _list_values(found[1]), action.help)

    def add_usage(self, usage, actions, groups, prefix=None):  # type: ignore[no-untyped-def]
        """Say `Usage`, with a capital letter as all else."""
        super().add_usage(usage, actions, groups, prefix or "Usage: ")


def parse(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """The command that is meant, and its options. Exits after --help, --version or a mistake."""
    name = argv[0] if argv else "--help"
    if name in POSIX_ONLY and not IS_POSIX:
        note(f"`runfold {name}` does not work on Windows. Use the Windows Subsystem for Linux.")
        sys.exit(2)
    if name in find_commands():
        command = load(name)
        given = argv[1:]
        if actions := getattr(command, "ACTIONS", None):
            from runfold._cli.subcommands import name_action

            given = name_action(given, list(actions))
        parser = parser_of(name, command)
        # An option may stand between a logdir and a query. What follows `--` is no option,
        # which the parser would forget on its second way.
        is_plain = actions or "--" in given
        options = (parser.parse_args if is_plain else parser.parse_intermixed_args)(given)
        if hasattr(options, "logdirs"):
            options.logdirs = find_logdirs(options.logdirs, options)
        return command, options
    top = _top()
    if not name.startswith("-"):
        note(f"No command '{name}'. {did_you_mean(name, find_commands())}".rstrip() + _SEE)
        sys.exit(2)
    if not argv:
        top.print_help(sys.stderr)
        sys.exit(2)
    top.parse_known_args(argv)
    top.error("a command must come first")


_SEE = " See `runfold --help`."


def load(name: str) -> Command:
    """The module of a command."""
    return cast("Command", load_command(name))


def parser_of(name: str, command: Command) -> Parser:
    """The parser of a command."""
    parser = Parser(f"runfold {name}", command.HELP, getattr(command, "USAGE", None))
    command.add_arguments(parser)
    parser.add_help_option()
    return parser


def _top() -> Parser:
    commands = "\n".join(f"  {name:<13}{summarize_command(name)}" for name in find_commands())
    about = f"{_ABOUT}\nCommands:\n{commands}\n\nExample:\n  runfold ls demo-runs\n\n{_STATUS}"
    parser = Parser("runfold", about, usage="runfold COMMAND [options]")
    parser.add_argument(
        "--version",
        action="version",
        version=f"runfold {runfold.__version__}",
        help="Show the version and exit.",
    )
    parser.add_help_option()
    return parser
