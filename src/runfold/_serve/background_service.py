"""The background process that runs a user's TensorBoards when no `runfold serve` is running.

    python -m runfold._serve.background_service

The process exits a few minutes after the last instance ends. `tensorboards.service` starts it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from runfold._state import make_private
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from runfold._serve.server import Server
    from runfold._serve.tensorboards.registry import InstanceRegistry

_IDLE_SECONDS = 600.0
_IDLE_LOOK_SECONDS = 5.0


def main(idle: float = _IDLE_SECONDS) -> int:
    """Serve until a signal arrives or no instance has been alive for `idle` seconds."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from runfold._serve.app import make_app
    from runfold._serve.http.access import Access
    from runfold._serve.http.token_files import load_private_name
    from runfold._serve.run_source import Source
    from runfold._serve.server import Server, listen_privately, make_url
    from runfold._serve.tensorboards.instance_store import Store
    from runfold._serve.tensorboards.process_files import empty_logdir
    from runfold._serve.tensorboards.registry import InstanceRegistry

    try:
        Store().close()
    except (RunfoldError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    with ExitStack() as ending:
        listening = [ending.enter_context(opened) for opened in listen_privately(0)]
        access = Access(port=listening[0].getsockname()[1], name=load_private_name())
        page = make_url(access.name, listening[0])
        boards = InstanceRegistry(access, make_url("127.0.0.1", listening[0]), page=page)
        source = Source(make_private(empty_logdir()))
        tasks: list[asyncio.Task[None]] = []

        def watch() -> None:
            tasks.append(asyncio.ensure_future(_end_in_time(server, boards, idle)))

        server = Server(make_app(source, access, boards=boards), watch)
        server.run(sockets=listening)
    return 0


async def _end_in_time(server: Server, boards: InstanceRegistry, idle: float) -> None:
    """Stop the server when another takes over, or after `idle` seconds without an instance."""
    store = await boards.store()
    await boards.has_begun.wait()
    used = time.monotonic()
    while boards.is_service and time.monotonic() - used < idle:
        await asyncio.sleep(min(idle, _IDLE_LOOK_SECONDS))
        if store.live():
            used = time.monotonic()
    server.should_exit = True


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
