"""The service of a user that keeps all instances, found or started by whoever needs it.

It is a server like that of `runfold serve`, without runs of its own, in the
background (`runfold._serve.background_service`). Where `runfold serve` runs already,
that is the service.
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
    """The service cannot be started, or does not answer."""


@dataclass(frozen=True, slots=True)
class Service:
    """The server that keeps the instances, as others reach it."""

    url: str
    page: str = field(repr=False)
    token: str = field(repr=False)
    pid: int

    def link(self, id: str) -> str:
        """Return the URL that logs a browser in, once, and shows an instance. Raises NoService."""
        ticket = self._ask("/api/tensorboards/link", {"id": id}).get("ticket")
        try:
            return self.page + make_login_path(str(ticket), id)
        except ValueError:
            raise NoService(f"The service at {self.url} gave no ticket for a login.") from None

    def poke(self) -> None:
        """Let it look at the store at once."""
        self._ask("/api/tensorboards/poke", {})

    def _ask(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request. Raises NoService.

        The token is sent only on a connection whose other end has proven that it knows
        the token: after a service was killed, another user may listen on its port.
        """
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=_ANSWER_SECONDS
        )
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            self._check(connection)
            connection.request("POST", path, json.dumps(content), headers)
            return self._read(connection)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoService(f"The service at {self.url} does not answer: {error}.") from None
        finally:
            connection.close()

    def _check(self, connection: http.client.HTTPConnection) -> None:
        """Let the other end prove that it is the service. Raises NoService."""
        nonce = secrets.token_hex(32)
        connection.request("GET", f"{PROOF}?nonce={nonce}")
        proof = self._read(connection).get("proof")
        if not hmac.compare_digest(str(proof).encode(), make_proof(self.token, nonce).encode()):
            raise NoService(f"Another program answers at {self.url}, the address of the service.")
        # From here on only this very connection is trusted.
        connection.auto_open = 0

    def _read(self, connection: http.client.HTTPConnection) -> dict[str, Any]:
        answer = connection.getresponse()
        content = json.loads(answer.read(_LARGEST_ANSWER))
        if answer.status != 200 or not isinstance(content, dict):
            raise NoService(f"The service at {self.url} refuses: {escape(str(content))}")
        return content


def find_service() -> Service | None:
    """The service that answers now, or None."""
    said = read_json(state_folder("tensorboards", SERVICE)) or {}
    try:
        service = Service(str(said["url"]), str(said["page"]), str(said["token"]), int(said["pid"]))
        service.poke()
    except (KeyError, ValueError, NoService):
        # It was killed, and another may have its port.
        return None
    return service


def call_service(store: Store, instance: Instance) -> subprocess.Popen[bytes] | None:
    """Have an instance kept: the process of the service that is started for it, or None.

    Where there is no service yet, the instance starts at the same time as it, and
    is taken over by it. Of two services that are started at once one ends by itself.
    """
    if find_service() is not None:
        return None
    if instance.pid is None and instance.state == "STARTING":
        from runfold._serve.tensorboards.instance import spawn

        process = spawn(instance, store.folder_of(instance.id))
        store.update(instance.id, pid=process.pid, pid_started=process.started)
    return _start()


def ensure_service(process: subprocess.Popen[bytes] | None = None) -> Service:
    """The service, started where there was none and none is being started by `process`.

    Raises NoService with where to look.
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
    raise NoService(f"The service of TensorBoards could not be started; {escape(log)} says why.")


def poke_service() -> None:
    """Let the service look at the store at once, if there is one; it does so in a moment anyway."""
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
            # Ctrl-C in the terminal that started it is not meant for it.
            start_new_session=True,
            cwd="/",
        )
    finally:
        os.close(log)
