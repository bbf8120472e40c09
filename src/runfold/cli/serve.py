"""The command `runfold serve`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from runfold.cli.browser import open_browser
from runfold.cli.terminal import CommandError, no_runs, note
from runfold.text import escape, human_count

if TYPE_CHECKING:
    from runfold.cli.parser import Parser

HELP = """\
Show the runs in the browser, and follow them while they grow.

A link is printed and opened that logs this browser in. It works once; the next
one is printed then. Only this machine can reach the server, unless --host says
otherwise. Ctrl-C ends it.

Example:
  runfold serve demo-runs

Exit status: 0 when ended by Ctrl-C, SIGTERM or with its terminal; 2 for a path
that leads nowhere, a port that is taken or a wrong option.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--port",
        type=_port,
        metavar="PORT",
        help="Listen there; 0 takes any free one. Default: the first free one from 6006 on.",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="Listen on another address, such as 0.0.0.0 for all. Whoever can reach it needs"
        " the link all the same. Default: 127.0.0.1, for this machine only.",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="Open no browser. Default: one is opened."
    )
    parser.add_argument(
        "--no-login",
        action="store_true",
        help="Let everybody on this machine in, without a link. Default: off.",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="Write a token for programs there, to be sent as `Authorization: Bearer TOKEN`;"
        " only you can read it, and it is removed at the end. Default: none.",
    )
    parser.add_argument(
        "--poll",
        type=_seconds,
        metavar="SECONDS",
        help="Look at the files every so often. Default: when the system tells of a change,"
        " and every second where it does not.",
    )
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Serve until told to end."""
    # Before NumPy is loaded: requests run in threads already, and those of OpenBLAS, which
    # spin while they wait, double the time that the band of a fold takes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from runfold.logdir.pause import pause_collector

    with ExitStack() as starting:
        starting.enter_context(pause_collector())
        return _serve(options, starting)


def _serve(options: argparse.Namespace, starting: ExitStack) -> int:
    """Serve; what holds only until the server listens is in `starting`."""
    from runfold.serve.source import Source

    source = Source(*options.logdirs, restarts=options.restarts, is_eager=True)

    # Meanwhile.
    from runfold.serve.access import Access
    from runfold.serve.app import make_app
    from runfold.serve.server import Server, find_names, is_private, listen, make_url
    from runfold.serve.static import MISSING, is_built
    from runfold.serve.tensorboards.boards import Boards
    from runfold.serve.token import keep_token

    with ExitStack() as ending:
        listening = ending.enter_context(listen(options.host, options.port))
        if not is_private(listening):
            _warn_of_others(options)
        access = Access(
            port=listening.getsockname()[1],
            hosts=find_names(options.host, listening),
            has_login=not options.no_login,
        )
        url = make_url(options.host, listening)

        def tell_link() -> None:
            # Whoever started it may have gone, and their terminal, or what it was piped into.
            with suppress(OSError):
                note(f"For another browser: {url}{access.link}")

        access.on_login = tell_link
        if options.token_file:
            ending.enter_context(keep_token(options.token_file, access.token))

        def tell() -> None:
            starting.close()
            count = len(source.runs())
            if not is_built():
                note(MISSING)
            if not count:
                note(f"{no_runs(*options.logdirs)} They are shown as soon as there are any.")
            note(f"Serving {human_count(count, 'run')} at {url}{access.link}\nCtrl-C ends it.")
            if not options.no_browser:
                ending.enter_context(open_browser(url + access.link))

        app = make_app(source, access, poll=options.poll, boards=Boards(access, url))
        Server(app, tell).run(sockets=[listening])
    if not source.close():
        # A long query in a thread would keep the process from ending.
        sys.stderr.flush()
        os._exit(0)
    return 0


def _warn_of_others(options: argparse.Namespace) -> None:
    host = escape(options.host)
    if options.no_login:
        raise CommandError(
            f"--no-login is for this machine only, and others can reach {host}. Leave out one"
            " of --no-login and --host."
        )
    note(
        f"Warning: others can reach {host}. They need the link, but what is sent can be read on"
        " the way; an SSH tunnel to 127.0.0.1 is safer."
    )


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port, from 0 to 65535")
    return port


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds from 0.1 on")
    return seconds
