"""One real TensorBoard on a node of a cluster.

    python -m runfold._serve.clusters.node_child FOLDER

This process differs from the one for an instance on the service's machine in these points:

- It encrypts its connections with a new certificate, which the service learns through the cluster.
- It knows only a digest of the instance's key, so the key itself never travels unencrypted.
- It limits clients that have not shown the key, because the whole network can reach it.
- It ends when its standard input is closed, which happens however its actor ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from typing import Any, NoReturn

from runfold._serve.clusters.node_server import Strangers, encrypt
from runfold._serve.http.pinned_tls import CannotEncrypt, make_server_context
from runfold._serve.tensorboards.child import UNUSABLE, Child, read_settings
from runfold._serve.tensorboards.process_files import Address

# The process has this long to end after its actor. It may be busy with an import, for example.
_ORPHAN_SECONDS = 20.0


def main() -> None:
    """Run until there is a reason to end."""
    NodeChild(*read_settings()).run()


class NodeChild(Child):
    """The process of one instance on a node."""

    def __init__(self, folder: str, settings: dict[str, Any]) -> None:
        super().__init__(folder, settings)
        self._host = settings["host"]
        self._strangers = Strangers()
        self._certificate = ""
        self._has_actor = True
        threading.Thread(target=self._follow_actor, name="runfold-actor", daemon=True).start()

    def _follow_actor(self) -> None:
        """End the process when the actor's end of the pipe is closed."""
        with contextlib.suppress(OSError):
            while os.read(sys.stdin.fileno(), 1):
                pass
        self._has_actor = False
        self._stop.set()
        threading.Event().wait(_ORPHAN_SECONDS)
        os._exit(1)

    def _make_server_class(self, program: Any) -> Any:
        try:
            context, self._certificate = make_server_context()
        except CannotEncrypt as error:
            self._end(UNUSABLE, str(error))
        return encrypt(super()._make_server_class(program), context, self._strangers)

    def _note_listening(self, server: Any) -> None:
        self._write_address(Address(server.server_port, self._host, self._certificate))

    def _make_gate(self, app: Any) -> Any:
        from runfold._serve.tensorboards.key_gate import Gate

        settings = self._settings
        self._gate = Gate(
            *(app, settings["prefix"], settings["key_digest"], self._describe_runs),
            admit=self._strangers.admit,
        )
        return self._gate

    def _print(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the actor no longer reads the output
            super()._print(text)

    def _end(self, status: int, reason: str, loaders: list[Any] | None = None) -> NoReturn:
        if not self._has_actor:  # it would have removed the folder
            shutil.rmtree(self._folder, ignore_errors=True)
        super()._end(status, reason, loaders)


if __name__ == "__main__":
    main()
