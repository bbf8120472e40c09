"""The command `runfold tensorboard`."""

from __future__ import annotations

import argparse
import math
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
Start real TensorBoards on chosen runs, look after them, and end them.

A service in the background keeps them, or `runfold serve` where it runs, and
shows each at an address of its own behind a link that logs the browser in. Each
has an id and a name; either will do wherever one is asked for, and so does its
beginning. One that nobody has looked at for 30 minutes ends. Without an action
they are listed.

Example:
  runfold tensorboard start lr-0.1 --logdir demo-runs

Exit status: 0; 1 for an instance that ended before it could be shown; 2 for an
experiment, trial, instance or path that is not there, or a wrong option.
"""

_LOOK_SECONDS = 0.05
_ASK_SECONDS = 1.0
_END_SECONDS = 30.0


def add_arguments(parser: Parser) -> None:
    """Declare the actions and their options."""
    add_actions(parser, ACTIONS)


def run(options: argparse.Namespace) -> int:
    """Do what was asked for."""
    status: int = options.run(options)
    return status


# start and open


def _add_start(parser: Parser) -> None:
    from runfold._serve.tensorboards.instance_store import MOST

    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="Ids, names or their beginnings; or paths or URLs of folders. Default: all.",
    )
    parser.add_argument(
        "--trial-ids",
        "-t",
        nargs="+",
        metavar="ID",
        help="Only these trials, by id or name, also of several experiments. Default: all.",
    )
    parser.add_where()
    parser.add_logdir(is_only=True)
    _add_no_browser(parser)
    parser.add_argument(
        "--detach", "-d", action="store_true", help="Print the id at once. Default: off."
    )
    parser.add_argument(
        "--config",
        action="append",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="Set a flag of TensorBoard, such as reload_interval=30, or idle_timeout=2h."
        " Default: none.",
    )
    parser.add_argument(
        "--config-file", metavar="YAML", help="Read such settings from a file. Default: none."
    )
    parser.add_argument(
        "--description", default="", metavar="TEXT", help="What it is for. Default: none."
    )
    parser.add_argument(
        "--max",
        type=_count,
        default=MOST,
        metavar="N",
        help=f"Start nothing if this many instances are live. Default: {MOST}.",
    )


def _add_no_browser(parser: Parser) -> None:
    parser.add_argument(
        "--no-browser", action="store_true", help="Open no browser. Default: one is opened."
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
            note("It shows the same already.")
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
    return read_options(config)


def _add_open(parser: Parser) -> None:
    _add_id(parser)
    _add_no_browser(parser)


def _open(options: argparse.Namespace) -> int:
    with open_store() as store:
        return _show(store, store.get(options.id), options)


def _show(store: Store, instance: Instance, options: argparse.Namespace) -> int:
    """Wait until an instance answers, print its link, and open the browser there."""
    from runfold._cli.browser import show_link
    from runfold._serve.tensorboards.service import ensure_service

    asked = 0.0
    while instance.state == "STARTING":
        if time.monotonic() - asked > _ASK_SECONDS:
            # Again and again: nobody would start it after a service that was killed meanwhile.
            ensure_service()
            asked = time.monotonic()
        time.sleep(_LOOK_SECONDS)
        instance = store.get(instance.id)
    if instance.state not in ("WAITING", "RUNNING"):
        note(f"{instance.name} ({instance.id}) has ended. {instance.message}".rstrip())
        return 1
    link = ensure_service().link(instance.id)
    print(f"{instance.name} ({instance.id}): {link}")
    if instance.state == "WAITING":
        note(f"There is no event file yet. {instance.message}".rstrip())
    note(f"The link works once; `runfold tensorboard open {instance.id}` gives the next.")
    if not options.no_browser:
        show_link(link, store.folder_of(instance.id))
    return 0


# logs, kill and config


def _add_id(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="An id, a name, or its beginning.")


def _add_logs(parser: Parser) -> None:
    _add_id(parser)
    parser.add_argument(
        "--follow", "-f", action="store_true", help="Go on until it has ended. Default: off."
    )
    part = parser.add_mutually_exclusive_group()
    for name in ("head", "tail"):
        word = "first" if name == "head" else "last"
        part.add_argument(
            f"--{name}", type=_count, metavar="N", help=f"Only the {word} lines. Default: all."
        )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default=LEVELS[0],
        metavar="LEVEL",
        help=f"Only lines as grave as that: one of {', '.join(LEVELS)}. Default: all.",
    )
    for name, moment in (("after", 0.0), ("before", math.inf)):
        parser.add_argument(
            f"--timestamp-{name}",
            type=_moment,
            default=moment,
            metavar="TIME",
            help=f"Only lines printed {name} that, such as 2026-03-01T12:00. Default: all.",
        )
    parser.add_argument(
        "--json",
        action="store_true",
        help="Print an object of JSON a line, with its time and level. Default: off.",
    )


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"'{text}' is no time such as 2026-03-01T12:00") from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of lines")
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
    parser.add_argument("ids", nargs="+", metavar="ID", help="Ids, names, or their beginnings.")
    parser.add_argument(
        "--force", "-f", action="store_true", help="Pass over those that are unknown. Default: off."
    )


def _kill(options: argparse.Namespace) -> int:
    from runfold._serve.tensorboards.instance_requests import end_instance
    from runfold._serve.tensorboards.service import ensure_service
    from runfold._story.audit_log import record_action

    with open_store() as store:
        # All are looked up first: a mistake in the last must not come after the first has ended.
        doomed = [one for one in _find_all(store, options) if one.is_live]
        for one in doomed:
            end_instance(store, one.id)
            record_action("tensorboard kill", f"{one.id} {one.name}", how="command")
        if doomed:
            ensure_service()
        deadline = time.monotonic() + _END_SECONDS
        for one in doomed:
            while store.get(one.id).is_live:
                if time.monotonic() > deadline:
                    raise CommandError(f"{one.name} ({one.id}) has not ended yet. Ask again.")
                time.sleep(_LOOK_SECONDS)
            print(one.id)
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
        one = store.get(options.id)
    settings = one.options
    print_json(
        {
            "id": one.id,
            "name": one.name,
            "description": one.description,
            "sources": replace(one.sources, logdirs=tuple(map(mask_url, one.sources.logdirs))),
            "idle_timeout": settings.idle_timeout,
            "config": dict(settings.flags),
            "arguments": settings.to_arguments(),
        }
    )
    return 0


ACTIONS = {
    "list": Action("List the instances.", add_list, print_list),
    "start": Action("Start one, or open the one that shows the same.", _add_start, _start),
    "open": Action("Open one in the browser.", _add_open, _open),
    "logs": Action("Print what one has printed.", _add_logs, _logs),
    "kill": Action("End instances.", _add_kill, _kill),
    "config": Action("Print what one shows, and how it is set up, as JSON.", _add_id, _config),
}
