"""Running supervisors, and a stand-in for TensorBoard for tests of the supervisor alone."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from helpers.boards import Board
from runfold._serve.tensorboards.instance import prefix_of
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Instance, Store
from runfold._serve.tensorboards.supervisor import Supervisor

# The stand-in writes its process id and port, and answers every request like an instance with
# one event file.
STAND_IN = """
import http.server, json, os, sys, time
folder = sys.argv[-1]
def write(name, **content):
    with open(f"{folder}/{name}.new", "w") as file:
        json.dump(content, file)
    os.replace(f"{folder}/{name}.new", f"{folder}/{name}")
began = time.monotonic()
boot = int(open("/proc/sys/kernel/random/boot_id").read(5), 16)
ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
write("process.json", pid=os.getpid(), started=boot << 40 | ticks)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"event_files": 1}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
BEFORE
write("span.json", began=began, ended=time.monotonic())
write("address.json", port=server.server_port, pid=os.getpid())
server.serve_forever()
"""


def stand_in(before: str = "") -> tuple[str, ...]:
    """Return the command for a stand-in that executes code before it writes its address."""
    return (sys.executable, "-S", "-E", "-c", STAND_IN.replace("BEFORE", before))


@asynccontextmanager
async def supervising(store: Store, **options: Any) -> AsyncIterator[Supervisor]:
    """Yield a supervisor that acts on a store, or waits until it may do so."""
    async with Supervisor(store, **options) as supervisor:
        task = asyncio.create_task(supervisor.supervise())
        try:
            yield supervisor
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()


async def until_state(
    store: Store,
    instance: Instance,
    state: str,
    fits: Callable[[Instance], bool] = lambda instance: True,
    seconds: float = 60.0,
) -> Instance:
    """Return the instance as soon as it is in this state and `fits` accepts it."""
    async with asyncio.timeout(seconds):
        while True:
            current = store.get(instance.id)
            if current.state == state and fits(current):
                return current
            await asyncio.sleep(0.05)


def board_of(store: Store, instance: Instance) -> Board:
    """Return a client for a running instance."""
    stored = store.get(instance.id)
    assert stored.port is not None
    folder = Path(store.folder_of(stored.id))
    return Board(folder, stored.port, stored.key, prefix_of(stored.id))


def add(store: Store, logdir: Path = Path("/nowhere"), **options: Any) -> Instance:
    """Add an instance for a logdir; the instance should be running."""
    return store.add(Sources((str(logdir),)), Options(**options))


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine, for up to a minute and a half."""
    asyncio.run(asyncio.wait_for(work, 90))
