"""A server on an address: where it listens, by which names it is called, and how it ends."""

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

# TensorBoard's own; where it is taken and none was asked for, one of the next.
PORT = 6006
_TRIED = 10

# Streams end at once; other answers get this many seconds to end: the whole takes one.
_GRACE = 0.5

# Connections that wait to be accepted, and how many are accepted before others are heard: fewer
# than half the strangers there may be, so that who sends a request at once is heard in time.
_QUEUE = 2048
_ACCEPTED = 100

_EVERYWHERE = ("0.0.0.0", "::")


class CannotServe(RunfoldError, OSError):
    """An address on which no server can listen."""


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that listens on a port, 0 for any free one, None for the first free from 6006 on.

    Raises CannotServe with what may be done.
    """
    if port is not None:
        return _bind(host, port)
    for one in range(PORT, PORT + _TRIED):
        with contextlib.suppress(CannotServe):
            return _bind(host, one)
    return _bind(host, 0)


def listen_privately(port: int | None) -> list[socket.socket]:
    """Return sockets that listen on one port of 127.0.0.1 and, where there is IPv6, of ::1.

    A browser may take either for a name below `localhost`. If another user had the port
    of one of them, the browser would send its cookie there. `port` is that of `listen`.
    """
    tried = [] if port else [*(range(PORT, PORT + _TRIED) if port is None else ()), *[0] * _TRIED]
    for one in tried:
        with contextlib.suppress(CannotServe):
            return _bind_both(one)
    return _bind_both(port or 0)


def _bind_both(port: int) -> list[socket.socket]:
    first = _bind("127.0.0.1", port)
    try:
        return [first, _bind("::1", first.getsockname()[1])] if _has_ipv6() else [first]
    except CannotServe:
        first.close()
        raise


def _has_ipv6() -> bool:
    """Whether this machine has ::1; where it has not, nobody else can listen there either."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _bind(host: str, port: int) -> socket.socket:
    family, address = _resolve(host, port)
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A server that was just stopped may be started again.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_QUEUE)
    except OSError as error:
        bound.close()
        raise CannotServe(_refusal(error, host, port)) from None
    return bound


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise CannotServe(f"No address is known for host '{escape(host)}'.") from None
    family, _, _, _, address = found[0]
    return family, address


def _refusal(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken. Give another by --port, or --port 0 for any free one."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used. Give one above 1023 by --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"'{escape(host)}' is no address of this machine. Leave --host out for 127.0.0.1."
    return f"Cannot listen on {escape(host)}, port {port}: {error.strerror}."


def is_private(listening: socket.socket) -> bool:
    """Whether only this machine can reach the socket."""
    return is_loopback(listening.getsockname()[0])


def find_names(host: str, listening: socket.socket) -> frozenset[str]:
    """The names and addresses, beside loopback, by which this server may be called."""
    address = listening.getsockname()[0]
    if address not in _EVERYWHERE:
        return frozenset({host.lower(), address.lower()})
    import psutil

    cards = psutil.net_if_addrs().values()
    addresses = {one.address.partition("%")[0].lower() for card in cards for one in card}
    return frozenset({socket.gethostname().lower(), *addresses})


def make_url(host: str, listening: socket.socket) -> str:
    """The address to open, without a slash at its end."""
    address, port = listening.getsockname()[:2]
    shown = socket.gethostname() if address in _EVERYWHERE else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


class Server(uvicorn.Server):
    """A server of an application on a socket; it ends on SIGINT and SIGTERM, with its streams.

    Also on SIGHUP, as when its terminal is closed, unless that is ignored as by `nohup`.
    `ended_by` is the number of the signal.
    """

    def __init__(self, app: App, on_ready: Callable[[], object]) -> None:
        limits = app.state.limits
        crowds = {"strangers": Crowd(limits.strangers), "known": Crowd(limits.connections)}
        super().__init__(
            uvicorn.Config(
                app,
                # The versions without compiled parts, whose limits are known.
                http=partial(Connection, **crowds),  # type: ignore[arg-type]
                loop="asyncio",
                ws="none",
                lifespan="on",
                # An access log would hold what is in addresses: the tickets of links.
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
        """Begin to serve, and say so."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_QUEUE)  # asyncio has made the queue as short as what it accepts at a time
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, which would be waited for, and then as ever."""
        self._served.end_streams()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Hear signals, in the main thread, until the server has ended."""
        with super().capture_signals():
            is_main = threading.current_thread() is threading.main_thread()
            if is_main and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
                signal.signal(signal.SIGHUP, self.handle_exit)
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at the first signal, at once at the second; the process itself goes on."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self.ended_by = sig
