"""The command `runfold serve`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from runfold._cli.browser import open_browser
from runfold._cli.login_links import keep_links
from runfold._cli.terminal import CommandError, no_runs, note
from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    from runfold._cli.parser import Parser

HELP = """\
Show runs in the browser, and update the page as they grow.

Prints a login link and opens it. Each link works once; after that, a new one is
printed. If stderr is not a terminal, as with nohup, links go to a file that
only you can read, and its path is printed instead.

Only this machine can reach the server unless --host is given. The page is at a
random subdomain of localhost, so that no other server on this machine gets its
cookie. A browser that cannot open subdomains of localhost, such as an older
Safari, needs --host 127.0.0.1. Press Ctrl-C to stop the server.

Example:
  runfold serve demo-runs

Exit status: 130 after Ctrl-C, 143 after SIGTERM, 129 when its terminal closes;
2 if a path does not exist, the port is taken or an option is wrong.
"""

_SHARED = (
    "A browser sends the cookie of {} to every port of that host. If you visit another user's"
    " server on this machine, that server could log in with the cookie. Use --host only if your"
    " browser cannot open subdomains of localhost."
)


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--port",
        type=_port,
        metavar="PORT",
        help="Port to listen on; 0 uses any free port. Default: the first free port starting"
        " at 6006.",
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help="Address to listen on and to use in the link, such as 0.0.0.0 for all addresses."
        " Anyone who can reach it still needs a link. Default: this machine only, at a random"
        " subdomain of localhost.",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="Do not open a browser. Default: off."
    )
    parser.add_argument(
        "--no-login",
        action="store_true",
        help="Let everyone on this machine open the page without a link. Default: off.",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="Write a token to this file; programs send it as `Authorization: Bearer"
        " TOKEN`. Only you can read the file, and it is deleted when the server stops. Default:"
        " none.",
    )
    parser.add_argument(
        "--poll",
        type=_seconds,
        metavar="SECONDS",
        help="Check the files for changes at this interval. Default: when the system reports a"
        " change, or every second if the system cannot report changes.",
    )
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    # Set this before NumPy is imported. Requests already run in threads, and OpenBLAS's own threads
    # spin while they wait, which doubles the time to compute a fold's band.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from runfold._logdir.gc_pause import pause_collector

    with ExitStack() as starting:
        starting.enter_context(pause_collector())
        return _serve(options, starting)


def _serve(options: argparse.Namespace, starting: ExitStack) -> int:
    """Run the server, and close `starting` once the server is listening."""
    from runfold._serve.run_source import Source

    source = Source(*options.logdirs, restarts=options.restarts, is_eager=True)

    # Imported while the source reads the runs.
    from runfold._serve.app import make_app
    from runfold._serve.http.access import Access
    from runfold._serve.http.token_files import keep_secret, load_private_name
    from runfold._serve.server import (
        Server,
        find_names,
        is_private,
        listen,
        listen_privately,
        make_url,
    )
    from runfold._serve.static_files import MISSING, is_built
    from runfold._serve.tensorboards.registry import InstanceRegistry

    with ExitStack() as ending:
        is_named = options.host is None
        host = options.host or "127.0.0.1"
        opened = listen_privately(options.port) if is_named else [listen(host, options.port)]
        sockets = [ending.enter_context(socket) for socket in opened]
        if not is_private(sockets[0]):
            _check_public_host(options)
        access = Access(
            port=sockets[0].getsockname()[1],
            hosts=find_names(host, sockets[0]),
            # Without a login there is no cookie to protect.
            name=load_private_name() if is_named and not options.no_login else "",
            has_login=not options.no_login,
        )
        url = make_url(host, sockets[0])
        page = make_url(access.name, sockets[0]) if access.name else url
        if not is_named and access.has_login and is_private(sockets[0]):
            note(_SHARED.format(page))
        address = ending.enter_context(keep_links(access, url, page))
        if options.token_file:
            ending.enter_context(keep_secret(options.token_file, access.token))

        def announce() -> None:
            starting.close()
            count = len(source.runs())
            if not is_built():
                note(MISSING)
            if not count:
                note(f"{no_runs(*options.logdirs)} New runs will appear on the page.")
            note(f"Serving {human_count(count, 'run')} at {address}\nPress Ctrl-C to stop.")
            if not options.no_browser:
                ending.enter_context(open_browser(page + access.link))

        boards = InstanceRegistry(access, url, page=page)
        app = make_app(source, access, poll=options.poll, boards=boards)
        server = Server(app, announce)
        server.run(sockets=sockets)
    source.close()
    if server.ended_by:
        # A query or a fold in a thread would keep the process alive.
        sys.stderr.flush()
        os._exit(128 + server.ended_by)
    return 0


def _check_public_host(options: argparse.Namespace) -> None:
    host = escape(options.host)
    if options.no_login:
        raise CommandError(
            f"--no-login works only on this machine, but other machines can connect to {host}."
            " Remove --no-login or --host."
        )
    note(
        f"Warning: other machines can connect to {host}. They need the link, but the traffic is"
        " not encrypted; an SSH tunnel to 127.0.0.1 is safer."
    )


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got '{text}'")
    return port


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"expected 0.1 to 86400 seconds, got '{text}'")
    return seconds
