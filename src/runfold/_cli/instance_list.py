"""The output of `runfold tensorboard list`."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from runfold._cli.terminal import Column, CommandError, note, print_json, print_table
from runfold._humanize import escape, human_count, human_duration, human_list
from runfold._state import state_folder
from runfold._storage.url import mask_url

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from runfold._cli.parser import Parser
    from runfold._serve.tensorboards.instance_store import Instance, Store

COLUMNS = (
    *("id", "name", "state", "description", "sources", "created", "started", "ended"),
    *("exit_status", "restarts", "user", "message", "node"),
)


@contextmanager
def open_store() -> Iterator[Store]:
    """Open the store of all instances; close it when the context ends."""
    import sqlite3

    from runfold._serve.tensorboards.instance_store import Store

    try:
        with closing(Store()) as store:
            yield store
    except sqlite3.Error as error:  # such as a full disk
        folder = escape(state_folder("tensorboards"))
        raise CommandError(
            f"{folder}: cannot read or write the list of instances: {error}."
        ) from None


def add_list(parser: Parser) -> None:
    """Declare the options of the list."""
    parser.add_argument(
        "--all", "-a", action="store_true", help="Include ended instances. Default: off."
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--quiet", "-q", action="store_true", help="Print only ids. Default: off.")
    shape.add_argument("--json", action="store_true", help="Print JSON. Default: off.")
    shape.add_argument("--csv", action="store_true", help="Print CSV. Default: off.")
    parser.add_argument(
        "--sort-by",
        choices=COLUMNS,
        default="created",
        metavar="COLUMN",
        help=f"Column to sort by: one of {', '.join(COLUMNS)}. Default: created.",
    )
    parser.add_argument(
        "--order-by",
        choices=("asc", "desc"),
        default="asc",
        metavar="ORDER",
        help="Sort order: 'asc', or 'desc' for the largest first. Default: asc.",
    )


def print_list(options: argparse.Namespace) -> int:
    """Print the instances."""
    with open_store() as store:
        if store.live():
            _ensure_service()
        everything = store.all()
    shown = [instance for instance in everything if options.all or instance.is_live]
    rows = sorted(map(_describe, shown), key=lambda row: _order(row[options.sort_by]))
    if options.order_by == "desc":
        rows.reverse()
    if options.quiet:
        print(*(row["id"] for row in rows), sep="\n", end="\n" if rows else "")
    elif options.json:
        print_json(rows)
    elif options.csv:
        _print_csv(rows)
    else:
        _print_rows(rows)
        for row in rows:
            # Instances that ended normally, for example when idle, need no message.
            if row["message"] and row["exit_status"] != 0:
                fact = row["message"].partition("\n")[0].removesuffix(" Its log ends:")
                note(f"{row['name']}: {escape(fact, 1000)}")
        ended = len(everything) - len(shown)
        if ended:
            ended_instances = human_count(ended, "ended instance")
            note(f"{human_count(len(shown), 'instance')}. --all also lists {ended_instances}.")
        elif not rows:
            note("There are no instances. `runfold tensorboard start` starts one.")
    return 0


def _ensure_service() -> None:
    """Start the service if needed: after a crash or reboot, nothing else updates stored states."""
    from runfold._serve.tensorboards.service import NoService, ensure_service

    try:
        ensure_service()
    except NoService as error:
        note(f"{error} Some listed instances may have ended.")


def _describe(instance: Instance) -> dict[str, Any]:
    return {
        **{name: getattr(instance, name) for name in COLUMNS if name != "sources"},
        "sources": _describe_sources(instance),
    }


def _describe_sources(instance: Instance) -> str:
    """Return what an instance shows, on one line."""
    sources = instance.sources
    parts = [*sources.experiments, *(sources.runs or ())] or [*map(mask_url, sources.logdirs)]
    names = human_list(parts)
    return f"{names} where {escape(sources.where)}" if sources.where else names


def _order(value: Any) -> tuple[bool, Any]:
    return value is not None, value if value is not None else 0


def _print_csv(rows: list[dict[str, Any]]) -> None:
    import csv
    import sys

    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    columns = [
        Column("id"),
        Column("name"),
        Column("state"),
        Column("age", is_number=True),
        Column("restarts", is_number=True),
        *([Column("node")] if (has_nodes := any(row["node"] for row in rows)) else []),
        Column("shows", may_shrink=True),
        Column("description", may_shrink=True),
    ]
    print_table(columns, [_cells(row, has_nodes) for row in rows])


def _cells(row: dict[str, Any], has_nodes: bool) -> list[str]:
    status = row["exit_status"]
    has_ended = row["state"] == "TERMINATED" and status is not None
    return [
        row["id"],
        row["name"],
        f"{row['state']} ({status})" if has_ended else row["state"],
        human_duration(max(0.0, time.time() - row["created"])),
        str(row["restarts"] or "-"),
        *([escape(row["node"]) or "-"] if has_nodes else []),
        row["sources"],
        escape(row["description"]) or "-",
    ]
