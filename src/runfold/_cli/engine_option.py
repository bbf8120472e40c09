"""Opening the logdir of a command that has --memory and --engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from runfold._logdir.loader import Logdir


def open_paths(options: argparse.Namespace, paths: Sequence[str] | None = None) -> Logdir:
    """Return a command's logdir, opened according to its options.

    `paths` are those of the logdir, by default the command's arguments. Raises CommandError for
    --address without --engine.
    """
    from runfold._pack.open_logdir import open_logdir

    check_engine(options)
    return open_logdir(
        *(options.logdirs if paths is None else paths),
        restarts=options.restarts,
        # Not all commands that fold have these options.
        limit_memory=getattr(options, "memory", None),
        engine=getattr(options, "engine", None),
        address=getattr(options, "address", None),
    )


def check_engine(options: argparse.Namespace) -> None:
    """Raise CommandError for --address without --engine."""
    if getattr(options, "address", None) is not None and options.engine is None:
        raise CommandError("--address requires --engine ray.")
