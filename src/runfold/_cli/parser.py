"""The command-line parser, with one-line error messages."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

import runfold
from runfold._cli.commands import POSIX_ONLY, find_commands, load_command, summarize_command
from runfold._cli.logdir_option import DEFAULT, find_logdirs
from runfold._cli.terminal import note
from runfold._humanize import did_you_mean, escape, read_size
from runfold._storage.url import mask_url
from runfold._system import IS_POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from _typeshed import SupportsWrite

# Copied from `_logdir.restarts`, which imports NumPy; a test keeps the two in sync.
POLICIES = ("session", "step", "keep")
ENGINES = ("ray",)

# Placeholders for lists of values in help texts.
_LISTED = re.compile(
    r"\{(formats|rounded_formats|spreadsheet_formats|statistics|centers|spreads)\}"
)

_ABOUT = """\
Make TensorBoard logs useful after training.

Most commands accept what you would pass to `tensorboard --logdir` (a folder of
runs or a single run), an event file, a pack or a quoted glob. Data goes to
stdout; notes go to stderr.
"""

_STATUS = """\
Exit status: 0 on success; 1 if `check` finds problems, a run is still running
after `stop`, or an instance ends before `tensorboard` can show it; 2 for a
wrong option, path or name; 130 after Ctrl-C, 143 after SIGTERM, 141 if the
output pipe is closed.
"""


class Command(Protocol):
    """The interface of a command's module."""

    HELP: str

    def add_arguments(self, parser: Parser) -> None:
        """Declare the options."""

    def run(self, options: argparse.Namespace) -> int:
        """Do the work and return the exit status."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors on one line, with near matches."""

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
        """Add --help, after the command's own options."""
        self.add_argument("--help", "-h", action="help", help="Show this help and exit.")

    def add_logdirs(self) -> None:
        """Add the logdir arguments and --logdir."""
        self.add_argument(
            "logdirs",
            nargs="*",
            metavar="LOGDIR",
            help="Logdir, run, event file, pack or glob, or a URL such as s3://bucket/runs."
            f" {DEFAULT}",
        )
        self.add_logdir()

    def add_logdir(self, is_only: bool = False) -> None:
        """Add --logdir, as an alternative to the arguments or as the only way to set the logdir."""
        text = (
            "The logdir."
            if is_only
            else "The logdir, as an alternative to the positional argument."
        )
        self.add_argument(
            "--logdir",
            action="append",
            metavar="LOGDIR",
            help=f"{text} {DEFAULT}",
        )

    def add_restarts(self) -> None:
        """Add --restarts."""
        self.add_argument(
            "--restarts",
            choices=POLICIES,
            default="session",
            metavar="POLICY",
            help="How to treat points that a restarted job logged twice: 'session' hides the"
            " points that the writer's restart marker supersedes, 'step' hides the older branch"
            " of a series when its step decreases, 'keep' hides nothing. Default: session.",
        )

    def add_memory(self) -> None:
        """Add --memory."""
        self.add_argument(
            "--memory",
            type=size,
            metavar="SIZE",
            help="Read logs that are larger than memory: decode points in parts, so that points and"
            " what is computed from them take at most this much, such as 4GB. Python and its"
            " libraries take about 150MB more. Default: no limit.",
        )

    def add_engine(self) -> None:
        """Add --engine and --address."""
        self.add_argument(
            "--engine",
            choices=ENGINES,
            metavar="ENGINE",
            help="Where to do the work: 'ray' reads files and computes results on a Ray cluster."
            " Every node must see the logdir at the same path, and have the same version of"
            " Runfold. The results are the same. Default: this process.",
        )
        self.add_argument(
            "--address",
            metavar="ADDRESS",
            help="Address of the Ray cluster, such as 10.0.0.5:6379 or ray://10.0.0.5:10001; 'auto'"
            " for one that is running on this machine. Default: the environment variable"
            " RAY_ADDRESS, otherwise 'auto', otherwise a cluster that is started for this command.",
        )

    def add_where(self) -> None:
        """Add --where."""
        self.add_argument(
            "--where",
            metavar="CONDITION",
            help="Only runs that match a condition, such as \"lr < 0.1 and status == 'finished'"
            " and last['val/loss'] < 0.3\"; `runfold table --help` describes the syntax."
            " Default: all runs.",
        )

    def add_json(self) -> None:
        """Add --json."""
        self.add_argument(
            "--json",
            action="store_true",
            help="Print JSON; NaN and infinity become null. Default: off.",
        )

    def add_overwrite(self) -> None:
        """Add --overwrite."""
        self.add_argument(
            "-f",
            "--overwrite",
            action="store_true",
            help="Overwrite existing files. Default: off.",
        )

    def add_escape_formulas(self) -> None:
        """Add --escape-formulas."""
        self.add_argument(
            "--escape-formulas",
            action="store_true",
            help="In spreadsheet formats ({spreadsheet_formats}), put a single quote before text"
            " that a spreadsheet would treat as a formula. Default: off.",
        )

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help or the version. The base method ignores errors such as a full disk."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Print the error on one line and exit with status 2."""
        prefix = "unrecognized arguments: "
        hint = ""
        if message.startswith(prefix):
            wrong = message.removeprefix(prefix).split()[0]
            hint = " " + did_you_mean(wrong, self._option_string_actions)
        note(f"{self.prog}: {mask_url(message)}.{hint.rstrip()} See `{self.prog} --help`.")
        sys.exit(2)


def _list_values(name: str) -> str:
    """Return the values for a placeholder. They are imported only when help is shown."""
    from runfold._export import formats
    from runfold._reduce import statistics

    lists: dict[str, Callable[[], str]] = {
        "formats": formats.describe_formats,
        "rounded_formats": lambda: " and ".join(formats.rounded_formats()),
        "spreadsheet_formats": lambda: ", ".join(formats.spreadsheet_formats()),
        "statistics": statistics.describe_statistics,
        "centers": lambda: ", ".join(statistics.CENTERS),
        "spreads": lambda: ", ".join(statistics.SPREADS),
    }
    return lists[name]()


def size(text: str) -> int:
    """Return the number of bytes in an option such as 500MB."""
    try:
        return read_size(text)
    except ValueError:
        message = f"expected a size such as 500MB, got '{escape(text)}'"
        raise argparse.ArgumentTypeError(message) from None


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter that keeps descriptions as written and wraps options at 80 columns."""

    def __init__(self, prog: str) -> None:
        from runfold._cli.terminal import width

        super().__init__(prog, max_help_position=22, width=min(width() or 80, 80))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        """Return an option's help with its placeholders filled in."""
        return action.help and _LISTED.sub(lambda match: _list_values(match[1]), action.help)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Wrap a help text, but never at a hyphen: names such as cmp-pairs.csv stay whole."""
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def add_usage(self, usage, actions, groups, prefix=None):  # type: ignore[no-untyped-def]
        """Capitalize `Usage` like the other headings."""
        super().add_usage(usage, actions, groups, prefix or "Usage: ")


def parse(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """Return the command and its options. Exits after --help, --version or an error."""
    name = argv[0] if argv else "--help"
    if name in POSIX_ONLY and not IS_POSIX:
        note(f"`runfold {name}` does not work on Windows. Use the Windows Subsystem for Linux.")
        sys.exit(2)
    if name in find_commands():
        command = load(name)
        arguments = argv[1:]
        if actions := getattr(command, "ACTIONS", None):
            from runfold._cli.subcommands import name_action

            arguments = name_action(arguments, list(actions))
        parser = parser_of(name, command)
        # Options can come between a logdir and a query. But parse_intermixed_args() parses
        # twice, and the second time it treats arguments after `--` as options.
        is_plain = actions or "--" in arguments
        options = (parser.parse_args if is_plain else parser.parse_intermixed_args)(arguments)
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
    """Return a command's module."""
    return cast("Command", load_command(name))


def parser_of(name: str, command: Command) -> Parser:
    """Return a command's parser."""
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
