"""TensorBoard's server on a network: encrypted, and with limits for clients without the key."""

from __future__ import annotations

import contextlib
import threading
from socket import SHUT_RDWR, socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

# Time per network operation until a client has shown the key.
_STRANGER_SECONDS = 20.0
# Number of connections of clients that have not shown the key. Each occupies a thread.
_MOST_STRANGERS = 256
# How long to wait until a client confirms the end of the connection.
_GOODBYE_SECONDS = 5.0


class Strangers:
    """Connections of clients that have not shown the key: at most this many, oldest first."""

    def __init__(self, most: int = _MOST_STRANGERS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._connections: dict[int, socket] = {}

    def add(self, connection: socket) -> None:
        """Limit a new connection; disconnect the oldest stranger if there are too many."""
        connection.settimeout(_STRANGER_SECONDS)
        with self._lock:
            self._connections[id(connection)] = connection
            if len(self._connections) <= self._most:
                return
            oldest = self._connections.pop(next(iter(self._connections)))
            # The method of the base class, because that of an encrypted socket also changes
            # state that the connection's own thread is using.
            with contextlib.suppress(OSError):
                socket.shutdown(oldest, SHUT_RDWR)

    def remove(self, connection: socket) -> None:
        """Forget a connection that is about to be closed."""
        with self._lock:
            self._connections.pop(id(connection), None)

    def admit(self, environ: dict[str, Any]) -> None:
        """Give a client that has shown the key all the time that it needs."""
        connection = environ["werkzeug.socket"]
        self.remove(connection)
        connection.settimeout(None)


def encrypt(server_class: Any, context: ssl.SSLContext, strangers: Strangers) -> Any:
    """Return a subclass of TensorBoard's server that encrypts connections and limits strangers."""

    class NodeServer(server_class):  # type: ignore[misc]
        socket: Any

        def __init__(self, app: Any, flags: Any) -> None:
            super().__init__(app, flags)
            # Werkzeug uses it to recognize errors of encrypted connections.
            self.ssl_context = context

        def server_activate(self) -> None:
            super().server_activate()
            # The handshake takes place in the thread of a connection, so that a client that
            # sends nothing does not keep the server from accepting others.
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )

        def process_request(self, request: Any, client_address: Any) -> None:
            strangers.add(request)
            super().process_request(request, client_address)

        def finish_request(self, request: Any, client_address: Any) -> None:
            try:
                request.do_handshake()
            except OSError:  # not a client of ours, so its errors are not logged
                return
            super().finish_request(request, client_address)

        def shutdown_request(self, request: Any) -> None:
            strangers.remove(request)
            # Tell the client that the response is complete.
            with contextlib.suppress(OSError, ValueError):
                request.settimeout(_GOODBYE_SECONDS)
                request.unwrap()
            super().shutdown_request(request)

    return NodeServer
