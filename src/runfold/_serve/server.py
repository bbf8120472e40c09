"""A server on an address: sockets, host names, URLs and shutdown."""

from __future__ import annotations

import contextlib
import errno
import signal
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn

from runfold._humanize import escape
from runfold._serve.http.access import is_loopback
from runfold._serve.http.connections import Connection, Crowd
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from runfold._serve.app import App

# TensorBoard's default port. If this port is taken and no port was requested, the next ports
# are tried.
PORT = 6006
_TRIED = 10

# Streams end at once; other responses get this many seconds. Shutdown takes about a second.
_GRACE = 0.5

# Length of the queue of connections to accept, and how many to accept per iteration of the event
# loop. The latter is less than half of `strangers`, so a client that sends its request at once
# is served.
_QUEUE = 2048
_ACCEPTED = 100

_EVERYWHERE = ("0.0.0.0", "::")


class CannotServe(RunfoldError, OSError):
    """The server cannot listen on an address."""


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens on a port: 0 for any free port, None for 6006 or a higher one.

    Raises CannotServe with a suggestion.
    """
    if port is not None:
        return _bind(host, port)
    for candidate in range(PORT, PORT + _TRIED):
        with contextlib.suppress(CannotServe):
            return _bind(host, candidate)
    return _bind(host, 0)


def listen_privately(port: int | None) -> list[socket.socket]:
    """Return sockets that listen on one port of 127.0.0.1 and, if IPv6 is available, of ::1.

    Browsers may use either for a name below `localhost`. If another user had the port on
    one of the two addresses, the browser would send its cookie there. `port` works as in
    `listen`.
    """
    ports = [] if port else [*(range(PORT, PORT + _TRIED) if port is None else ()), *[0] * _TRIED]
    for candidate in ports:
        with contextlib.suppress(CannotServe):
            return _bind_both(candidate)
    return _bind_both(port or 0)


def _bind_both(port: int) -> list[socket.socket]:
    first = _bind("127.0.0.1", port)
    try:
        return [first, _bind("::1", first.getsockname()[1])] if _has_ipv6() else [first]
    except CannotServe:
        first.close()
        raise


def _has_ipv6() -> bool:
    """Whether this machine has the address ::1. If not, other users cannot listen on it either."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _bind(host: str, port: int) -> socket.socket:
    family, address = _resolve(host, port)
    # asyncio sends small responses at once only if it knows that this is TCP. Otherwise, a body
    # waits until the client has acknowledged the headers, for 40 ms on a reused connection.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Allow a restart right after the server stopped.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_QUEUE)
    except OSError as error:
        bound.close()
        raise CannotServe(_refusal(error, host, port)) from None
    return bound


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise CannotServe(f"Cannot resolve host '{escape(host)}'.") from None
    family, _, _, _, address = results[0]
    return family, address


def _refusal(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use. Pass another with --port, or --port 0 for any free port."
    if error.errno == errno.EACCES:
        return f"No permission to use port {port}. Pass a port above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"'{escape(host)}' is not an address of this machine. Omit --host to use 127.0.0.1."
    return f"Cannot listen on {escape(host)}, port {port}: {error.strerror}."


def is_private(listening: socket.socket) -> bool:
    """Whether only this machine can reach the socket."""
    return is_loopback(listening.getsockname()[0])


def find_names(host: str, listening: socket.socket) -> frozenset[str]:
    """Return the names and addresses, other than loopback, under which to accept requests."""
    address = listening.getsockname()[0]
    if address not in _EVERYWHERE:
        return frozenset({host.lower(), address.lower()})
    import psutil

    cards = psutil.net_if_addrs().values()
    addresses = {entry.address.partition("%")[0].lower() for card in cards for entry in card}
    return frozenset({socket.gethostname().lower(), *addresses})


def make_url(host: str, listening: socket.socket) -> str:
    """Return the URL to open, without a trailing slash."""
    address, port = listening.getsockname()[:2]
    shown = socket.gethostname() if address in _EVERYWHERE else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


class Server(uvicorn.Server):
    """Serves an application on a socket until SIGINT, SIGTERM or SIGHUP, and ends its streams.

    A SIGHUP arrives when the terminal closes; under `nohup`, it remains ignored.
    `ended_by` is the signal number.
    """

    def __init__(self, app: App, on_ready: Callable[[], object]) -> None:
        limits = app.state.limits
        crowds = {"strangers": Crowd(limits.strangers), "known": Crowd(limits.connections)}
        super().__init__(
            uvicorn.Config(
                app,
                # The pure-Python protocol, because its limits are known.
                http=partial(Connection, **crowds),  # type: ignore[arg-type]
                loop="asyncio",
                ws="none",
                lifespan="on",
                # An access log would contain the tickets in login URLs.
                access_log=False,
                log_config=None,
                log_level="critical",
                proxy_headers=False,
                server_header=False,
                backlog=_ACCEPTED,
                h11_max_incomplete_event_size=64 << 10,
                timeout_keep_alive=limits.silence,
                timeout_graceful_shutdown=_GRACE,  # type: ignore[arg-type]
            )
        )
        self._served = app
        self._on_ready = on_ready
        self.ended_by = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving, then call `on_ready`."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_QUEUE)  # asyncio has set the queue length to `backlog`
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, because uvicorn would wait for them; then shut down as usual."""
        self._served.end_streams()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals in the main thread until the server has ended."""
        with super().capture_signals():
            is_main = threading.current_thread() is threading.main_thread()
            if is_main and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
                signal.signal(signal.SIGHUP, self.handle_exit)
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down on the first signal, at once on the second; the process itself continues."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self.ended_by = sig
