"""The service that manages a user's instances, found or started on demand.

The service is a background server like `runfold serve`, but without runs
(`runfold._serve.background_service`). If `runfold serve` is already running, that
server is the service.
"""

from __future__ import annotations

import hmac
import http.client
import json
import os
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runfold._humanize import escape
from runfold._serve.http.access import PROOF, make_login_path, make_proof
from runfold._serve.tensorboards.process_files import SERVICE, Detached, read_json
from runfold._state import make_private, state_folder
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from runfold._serve.tensorboards.instance_store import Instance, Store

_LOG = "service.log"
_LARGEST_LOG = 1 << 20
_LARGEST_ANSWER = 1 << 20
_ANSWER_SECONDS = 10.0
_START_SECONDS = 60.0
_LOOK_SECONDS = 0.05


class NoService(RunfoldError):
    """The service cannot be started, or does not respond."""


@dataclass(frozen=True, slots=True)
class Service:
    """The server that manages the instances, and how to reach it."""

    url: str
    page: str = field(repr=False)
    token: str = field(repr=False)
    pid: int

    def link(self, id: str) -> str:
        """Return the URL that logs a browser in, once, and opens an instance. Raises NoService."""
        ticket = self._post("/api/tensorboards/link", {"id": id}).get("ticket")
        try:
            return self.page + make_login_path(str(ticket), id)
        except ValueError:
            raise NoService(f"The service at {self.url} returned no login ticket.") from None

    def poke(self) -> None:
        """Make the service check the store at once."""
        self._post("/api/tensorboards/poke", {})

    def _post(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a request. Raises NoService.

        The token is sent only after the other end has proved, on the same connection, that
        it has the token. After a service is killed, another user may listen on its port.
        """
        url = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            url.hostname or "", url.port, timeout=_ANSWER_SECONDS
        )
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            self._check(connection)
            connection.request("POST", path, json.dumps(content), headers)
            return self._read(connection)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoService(f"The service at {self.url} does not respond: {error}.") from None
        finally:
            connection.close()

    def _check(self, connection: http.client.HTTPConnection) -> None:
        """Make the other end prove that it is the service. Raises NoService."""
        nonce = secrets.token_hex(32)
        connection.request("GET", f"{PROOF}?nonce={nonce}")
        proof = self._read(connection).get("proof")
        if not hmac.compare_digest(str(proof).encode(), make_proof(self.token, nonce).encode()):
            raise NoService(f"Another program responds at {self.url}, the service's address.")
        # From here on, only this connection is trusted.
        connection.auto_open = 0

    def _read(self, connection: http.client.HTTPConnection) -> dict[str, Any]:
        response = connection.getresponse()
        content = json.loads(response.read(_LARGEST_ANSWER))
        if response.status != 200 or not isinstance(content, dict):
            raise NoService(f"The service at {self.url} rejected a request: {escape(str(content))}")
        return content


def find_service() -> Service | None:
    """Return the running service, or None."""
    address = read_json(state_folder("tensorboards", SERVICE)) or {}
    try:
        service = Service(
            str(address["url"]), str(address["page"]), str(address["token"]), int(address["pid"])
        )
        service.poke()
    except (KeyError, ValueError, NoService):
        # The service was killed, and another program may have its port.
        return None
    return service


def call_service(store: Store, instance: Instance) -> subprocess.Popen[bytes] | None:
    """Make the service manage an instance; return the process of a service started for it.

    Without a running service, the instance and the service are started at the same
    time; the service takes the instance over. If two services start at once, one of
    them ends.
    """
    if find_service() is not None:
        return None
    if instance.pid is None and instance.state == "STARTING":
        from runfold._serve.tensorboards.instance import spawn

        process = spawn(instance, store.folder_of(instance.id))
        store.update(instance.id, pid=process.pid, pid_started=process.started)
    return _start()


def ensure_service(process: subprocess.Popen[bytes] | None = None) -> Service:
    """Return the service; start it if it is not running and `process` is not starting it.

    Raises NoService; the message names the log.
    """
    service = find_service()
    deadline = time.monotonic() + _START_SECONDS
    while service is None and time.monotonic() < deadline:
        process = process or _start()
        if process is not None and process.poll() not in (None, 0):
            break
        time.sleep(_LOOK_SECONDS)
        service = find_service()
    if service is not None:
        return service
    log = state_folder("tensorboards", _LOG)
    raise NoService(f"Cannot start the TensorBoard service; see {escape(log)} for the reason.")


def poke_service() -> None:
    """Make a running service check the store now rather than in a moment."""
    find_service()


def _start() -> subprocess.Popen[bytes]:
    folder = make_private(state_folder("tensorboards"))
    log = os.open(os.path.join(folder, _LOG), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        if os.fstat(log).st_size > _LARGEST_LOG:
            os.ftruncate(log, 0)
        return Detached(
            [sys.executable, "-P", "-m", "runfold._serve.background_service"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C in the terminal that started the service must not end it.
            start_new_session=True,
            cwd="/",
        )
    finally:
        os.close(log)
