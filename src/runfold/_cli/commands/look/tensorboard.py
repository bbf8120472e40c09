"""The command `runfold tensorboard`."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from runfold._cli.instance_list import add_list, open_store, print_list
from runfold._cli.subcommands import Action, add_actions
from runfold._cli.terminal import CommandError, note, print_json
from runfold._humanize import escape
from runfold._serve.tensorboards.log_lines import LEVELS, is_chosen
from runfold._storage.url import mask_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runfold._cli.parser import Parser
    from runfold._serve.tensorboards.instance_options import Options
    from runfold._serve.tensorboards.instance_store import Instance, Store

HELP = """\
Start, list and stop real TensorBoards for selected runs.

Instances are managed by `runfold serve` if it is running, otherwise by a
background service. Each has an id, a name, and its own URL behind a login.
Specify an instance by its id, its name, or a unique prefix of either. An
instance ends after 30 minutes without a visitor. The default action is list.

Example:
  runfold tensorboard start lr-0.1 --logdir demo-runs

Exit status: 0; 1 if an instance ended before it could be shown; 2 if an
experiment, trial, instance or path does not exist, or an option is wrong.
"""

_LOOK_SECONDS = 0.05
_CHECK_SECONDS = 1.0
_END_SECONDS = 30.0


def add_arguments(parser: Parser) -> None:
    """Declare the actions and their options."""
    add_actions(parser, ACTIONS)


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    status: int = options.run(options)
    return status


# start and open


def _add_start(parser: Parser) -> None:
    from runfold._serve.tensorboards.instance_store import MOST

    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="Experiment ids or names, unique prefixes of names, or paths or URLs of folders."
        " Default: all.",
    )
    parser.add_argument(
        "--trial-ids",
        "-t",
        nargs="+",
        metavar="ID",
        help="Only these trials, by id or name, from one or more experiments. Default: all.",
    )
    parser.add_where()
    parser.add_logdir(is_only=True)
    _add_no_browser(parser)
    parser.add_argument(
        "--detach",
        "-d",
        action="store_true",
        help="Print the id, and do not wait for TensorBoard. Default: off.",
    )
    parser.add_argument(
        "--config",
        action="append",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="Set TensorBoard flags such as reload_interval=30, or Runfold's idle_timeout=2h"
        " (repeatable). Default: none.",
    )
    parser.add_argument(
        "--config-file",
        metavar="YAML",
        help="Read the --config settings from a YAML file. Default: none.",
    )
    parser.add_argument(
        "--description", default="", metavar="TEXT", help="Purpose of the instance. Default: none."
    )
    parser.add_argument(
        "--on",
        choices=("ray",),
        metavar="ENGINE",
        help="Run TensorBoard on a node of a cluster: 'ray'. Default: on this machine.",
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        help="Ray cluster to use: 'auto' for the one of this machine, HOST:PORT, or"
        " ray://HOST:PORT. Default: the environment variable RAY_ADDRESS, otherwise 'auto'.",
    )
    parser.add_argument(
        "--max",
        type=_count,
        default=MOST,
        metavar="N",
        help=f"Refuse to start if N instances are already running. Default: {MOST}.",
    )


def _add_no_browser(parser: Parser) -> None:
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="Only print the link; do not open a browser. Default: off.",
    )


def _start(options: argparse.Namespace) -> int:
    from runfold._cli.instance_arguments import choose_sources
    from runfold._serve.tensorboards.instance_requests import open_instance
    from runfold._serve.tensorboards.service import call_service, ensure_service
    from runfold._story.audit_log import record_action

    sources, settings = choose_sources(options), _read_options(options)
    with open_store() as store:
        instance, is_new = open_instance(
            store, sources, settings, options.description, most=options.max
        )
        if is_new:
            record_action("tensorboard start", f"{instance.id} {instance.name}", how="command")
        starting = call_service(store, instance)
        if options.detach:
            print(instance.id)
            return 0
        if not is_new:
            note("An instance with the same runs and options already exists.")
        ensure_service(starting)
        return _show(store, instance, options)


def _read_options(options: argparse.Namespace) -> Options:
    from runfold._serve.tensorboards.instance_options import (
        read_config,
        read_options,
        split_setting,
    )

    config = read_config(options.config_file) if options.config_file else {}
    config.update(split_setting(text) for texts in options.config for text in texts)
    return replace(read_options(config), cluster=_read_cluster(options))


def _read_cluster(options: argparse.Namespace) -> str | None:
    """Return the address of the cluster to run on; None for this machine."""
    if options.on is None:
        if options.address is not None:
            raise CommandError("--address is the address of a Ray cluster. Add --on ray.")
        return None
    # The service may have been started from a shell with another environment.
    return options.address or os.environ.get("RAY_ADDRESS") or "auto"


def _add_open(parser: Parser) -> None:
    _add_id(parser)
    _add_no_browser(parser)


def _open(options: argparse.Namespace) -> int:
    with open_store() as store:
        return _show(store, store.get(options.id), options)


def _show(store: Store, instance: Instance, options: argparse.Namespace) -> int:
    """Wait until an instance responds, print its link, and open the link in the browser."""
    from runfold._cli.browser import show_link
    from runfold._serve.tensorboards.service import ensure_service

    last_check = 0.0
    message = instance.message
    while instance.state == "STARTING":
        if time.monotonic() - last_check > _CHECK_SECONDS:
            # Check the service repeatedly, because it may be killed in the meantime.
            ensure_service()
            last_check = time.monotonic()
        time.sleep(_LOOK_SECONDS)
        instance = store.get(instance.id)
        if instance.message != message and instance.state == "STARTING":
            # Waiting for room on a cluster can take a while.
            message = instance.message
            note(f"{instance.name} ({instance.id}): {message}")
    if instance.state not in ("WAITING", "RUNNING"):
        note(f"{instance.name} ({instance.id}) has ended. {instance.message}".rstrip())
        return 1
    link = ensure_service().link(instance.id)
    print(f"{instance.name} ({instance.id}): {link}")
    if instance.state == "WAITING":
        note(f"There is no event file yet. {instance.message}".rstrip())
    note(f"The link works once; `runfold tensorboard open {instance.id}` prints another.")
    if not options.no_browser:
        show_link(link, store.folder_of(instance.id))
    return 0


# logs, kill and config


def _add_id(parser: Parser) -> None:
    parser.add_argument(
        "id", metavar="ID", help="Instance id or name, or a unique prefix of either."
    )


def _add_logs(parser: Parser) -> None:
    _add_id(parser)
    parser.add_argument(
        "--follow",
        "-f",
        action="store_true",
        help="Keep printing until the instance ends. Default: off.",
    )
    part = parser.add_mutually_exclusive_group()
    for name in ("head", "tail"):
        word = "first" if name == "head" else "last"
        part.add_argument(
            f"--{name}", type=_count, metavar="N", help=f"Only the {word} N lines. Default: all."
        )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default=LEVELS[0],
        metavar="LEVEL",
        help=f"Only lines of at least this level: one of {', '.join(LEVELS)}. Default: all.",
    )
    for name, moment in (("after", 0.0), ("before", math.inf)):
        parser.add_argument(
            f"--timestamp-{name}",
            type=_moment,
            default=moment,
            metavar="TIME",
            help=f"Only lines printed {name} TIME, such as 2026-03-01T12:00. Default: all.",
        )
    parser.add_argument(
        "--json",
        action="store_true",
        help="Print one JSON object per line, with time and level. Default: off.",
    )


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"expected a time such as 2026-03-01T12:00, got '{text}'"
        ) from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected a whole number, got '{text}'")
    return int(text)


def _logs(options: argparse.Namespace) -> int:
    from runfold._serve.tensorboards.instance_requests import read_lines

    choice = (options.level, options.timestamp_after, options.timestamp_before)
    with open_store() as store:
        id = store.get(options.id).id
        lines = read_lines(
            *(store, id, options.head, options.tail, options.follow),
            is_wanted=lambda line: is_chosen(line, *choice),
        )
        for line in lines:
            if options.json:
                print_json({"id": id, "time": line.time, "level": line.level, "line": line.text})
            else:
                print(escape(line.text, 100_000))
            if options.follow:
                sys.stdout.flush()
    return 0


def _add_kill(parser: Parser) -> None:
    parser.add_argument(
        "ids", nargs="+", metavar="ID", help="Instance ids or names, or unique prefixes of either."
    )
    parser.add_argument(
        "--force", "-f", action="store_true", help="Skip unknown instances. Default: off."
    )


def _kill(options: argparse.Namespace) -> int:
    from runfold._serve.tensorboards.instance_requests import end_instance
    from runfold._serve.tensorboards.service import ensure_service
    from runfold._story.audit_log import record_action

    with open_store() as store:
        # Look up all instances before ending any.
        selected = [instance for instance in _find_all(store, options) if instance.is_live]
        for instance in selected:
            end_instance(store, instance.id)
            record_action("tensorboard kill", f"{instance.id} {instance.name}", how="command")
        if selected:
            ensure_service()
        deadline = time.monotonic() + _END_SECONDS
        for instance in selected:
            while store.get(instance.id).is_live:
                if time.monotonic() > deadline:
                    name = f"{instance.name} ({instance.id})"
                    raise CommandError(f"{name} has not ended yet. Try again.")
                time.sleep(_LOOK_SECONDS)
            print(instance.id)
    return 0


def _find_all(store: Store, options: argparse.Namespace) -> Iterator[Instance]:
    from runfold._serve.tensorboards.instance_store import UnknownInstance

    for text in dict.fromkeys(options.ids):
        try:
            yield store.get(text)
        except UnknownInstance as error:
            if not options.force:
                raise
            note(str(error))


def _config(options: argparse.Namespace) -> int:
    with open_store() as store:
        instance = store.get(options.id)
    settings, sources = instance.options, instance.sources
    print_json(
        {
            "id": instance.id,
            "name": instance.name,
            "description": instance.description,
            "sources": replace(sources, logdirs=tuple(map(mask_url, sources.logdirs))),
            "idle_timeout": settings.idle_timeout,
            "cluster": settings.cluster,
            "config": dict(settings.flags),
            "arguments": settings.to_arguments(),
        }
    )
    return 0


ACTIONS = {
    "list": Action("List instances.", add_list, print_list),
    "start": Action("Start an instance, or open an existing identical one.", _add_start, _start),
    "open": Action("Open an instance in the browser.", _add_open, _open),
    "logs": Action("Print the output of an instance.", _add_logs, _logs),
    "kill": Action("End instances.", _add_kill, _kill),
    "config": Action("Print the runs and settings of an instance as JSON.", _add_id, _config),
}
