"""The logdirs of a command: its arguments, `--logdir`, or the default."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError, note
from runfold._select import is_glob
from runfold._storage.url import is_url

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

RUNS = "runs"
DEFAULT = "Default: the folder `runs` if it exists, otherwise the current folder."


def find_logdirs(arguments: Sequence[str], options: argparse.Namespace) -> list[str]:
    """Return the logdirs given as arguments or with --logdir, or the default with a note.

    Raises CommandError if --logdir is empty or both are given.
    """
    values = options.logdir or []
    if "" in values:
        raise CommandError("--logdir is empty. Omit it or specify a folder.")
    if arguments and values:
        raise CommandError("Pass the logdir as an argument or with --logdir, not both.")
    if arguments or values:
        return [*arguments, *values]
    path = default_logdir()
    note(
        "Reading the folder 'runs'. Use --logdir to read another."
        if path == RUNS
        else "No folder 'runs' here: reading the current folder. Use --logdir to read another."
    )
    return [path]


def find_logdir(options: argparse.Namespace) -> str:
    """Return the logdir of a command without logdir arguments, or the default with a note."""
    return only_logdir(find_logdirs([], options))


def only_logdir(logdirs: Sequence[str]) -> str:
    """Return the only logdir. Raises CommandError if there are several."""
    if len(logdirs) > 1:
        raise CommandError("This command accepts only one logdir.")
    return logdirs[0]


def default_logdir() -> str:
    """Return the folder to read by default."""
    return RUNS if os.path.isdir(RUNS) else os.curdir


def find_run_logdir(options: argparse.Namespace, words: Sequence[str], count: int) -> list[str]:
    """Return the logdir in which the last `count` words are runs, or [] if they are paths.

    A word that is not an existing path is a run in the default logdir.
    """
    arguments = list(words[:-count])
    if arguments or options.logdir or all(map(_is_name, words)):
        return [only_logdir(find_logdirs(arguments, options))]
    return []


def is_path(word: str) -> bool:
    """Return whether a word is a URL, a glob or an existing path."""
    return is_url(word) or is_glob(word) or os.path.exists(os.path.expanduser(word))


def _is_name(word: str) -> bool:
    # A run in a pack is PACK/RUN, and only PACK exists on disk.
    first = word.split(os.sep)[0] or os.sep
    return not is_url(word) and not os.path.lexists(first)
