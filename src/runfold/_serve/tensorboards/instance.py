"""The process of an instance: started, found again after a service restart, or ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from runfold._serve.http.pinned_tls import make_client_context
from runfold._serve.tensorboards.key_gate import KEY_HEADER
from runfold._serve.tensorboards.process_files import (
    LOG,
    Detached,
    is_process,
    read_address,
    read_json,
    write_json,
)
from runfold._state import make_private
from runfold._story.processes import started_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._serve.tensorboards.instance_store import Instance
    from runfold._serve.tensorboards.process_files import Address

# Commands for an instance; its folder is appended.
CHILD = (sys.executable, "-P", "-m", "runfold._serve.tensorboards.child")
CLUSTER_PROCESS = (sys.executable, "-P", "-m", "runfold._serve.clusters.cluster_process")

# Polling interval for systems that report the end of a process only to its parent.
_POLL_SECONDS = 0.5
_HEALTH_SECONDS = 10.0
_LARGEST_HEALTH = 64 << 10


class Process:
    """The process of an instance, whether or not it is a child of this process."""

    def __init__(
        self,
        instance: Instance,
        folder: str,
        pid: int,
        started: int | None,
        child: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.pid = pid
        self.started = started
        self.folder = folder
        self._prefix = prefix_of(instance.id)
        self._key = instance.key
        self._child = child

    @property
    def address(self) -> Address | None:
        """Where the instance listens; None until it listens."""
        return read_address(os.path.join(self.folder, "address.json"), self.pid)

    @property
    def ending(self) -> tuple[int, str] | None:
        """The exit status and reason that the process recorded; None if something else ended it."""
        ending = read_json(os.path.join(self.folder, "ending.json"))
        if ending is None or ending["pid"] != self.pid:
            return None
        return ending["status"], ending["reason"]

    @property
    def environment(self) -> dict[str, str] | None:
        """The environment that the process was started with; None if unavailable."""
        import psutil

        try:
            return psutil.Process(self.pid).environ() or None
        except (psutil.Error, OSError):  # it has ended, or is ending
            return None

    async def wait(self) -> int | None:
        """Wait for the process to end; return its exit status, or None if it is unknown."""
        if self._child is None or self._child.poll() is None:
            await _wait_for_end(self.pid, self.started)
        if self._child is not None:
            return await asyncio.to_thread(self._child.wait)
        ending = self.ending
        return None if ending is None else ending[0]

    async def end(self, grace: float = 10.0) -> int | None:
        """Ask the process group to end; kill it after `grace` seconds."""
        if is_process(self.pid, self.started):
            self._signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await _wait_for_end(self.pid, self.started)
            # Sent even if the process has ended, because processes that it started may remain.
            self._signal(signal.SIGKILL)
        return await self.wait()

    async def health(self) -> dict[str, Any]:
        """Return the instance's usage.

        Raises OSError or ValueError if there is no valid response.
        """
        address = self.address
        if address is None:
            raise ConnectionError("it is not listening yet")
        async with asyncio.timeout(_HEALTH_SECONDS):
            body = await fetch(address, f"{self._prefix}/runfold/health", self._key)
        health = json.loads(body)
        if not isinstance(health, dict):
            raise ValueError("the health response is not a JSON object")
        return health

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # The process leads a group, which contains everything that it started.
            os.killpg(self.pid, number)


def prefix_of(id: str) -> str:
    """Return the path under which an instance is served."""
    return f"/proxy/{id}"


def spawn(
    instance: Instance,
    folder: str,
    program: Sequence[str] | None = None,
    environment: dict[str, str] | None = None,
) -> Process:
    """Start a new process for an instance, with its files in a folder. Raises OSError.

    By default, the process is TensorBoard itself or, for an instance on a cluster, the process
    that runs TensorBoard there. It inherits this process's environment unless `environment`
    is given.
    """
    make_private(folder)
    for name in ("address.json", "process.json", "ending.json"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    settings = {
        "sources": instance.sources.to_json(),
        "options": instance.options.to_json(),
        "prefix": prefix_of(instance.id),
        "key": instance.key,
        "has_run": instance.started is not None,
    }
    if program is None:
        program = CHILD if instance.options.cluster is None else CLUSTER_PROCESS
    write_json(os.path.join(folder, "settings.json"), settings)
    log = os.open(os.path.join(folder, LOG), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        child = Detached(
            [*program, folder],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=environment,
            # The process must survive a killed service, and must end together with all that
            # it started.
            start_new_session=True,
        )
    finally:
        os.close(log)
    return Process(instance, folder, child.pid, started_at(child.pid), child)


def adopt(instance: Instance, folder: str) -> Process | None:
    """Return the process that an earlier service started for an instance, or None."""
    for pid, started in _known_processes(instance, folder):
        if is_process(pid, started):
            assert pid is not None
            return Process(instance, folder, pid, started)
    return None


def _known_processes(instance: Instance, folder: str) -> list[tuple[int | None, int | None]]:
    # The service may have been killed before it recorded the process.
    recorded = read_json(os.path.join(folder, "process.json")) or {}
    return [(recorded.get("pid"), recorded.get("started")), (instance.pid, instance.pid_started)]


def end_stray(folder: str) -> bool:
    """End any process that serves from a folder without a live instance.

    Return whether there was one.
    """
    recorded = read_json(os.path.join(folder, "process.json")) or {}
    if not is_process(recorded.get("pid"), recorded.get("started")):
        return False
    # Without this file, the process ends itself and everything that it started.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "process.json"))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(recorded["pid"], signal.SIGTERM)
    return True


def remove_files(folder: str) -> None:
    """Remove an instance's files. The tree contains only links, which are not followed."""
    shutil.rmtree(folder, ignore_errors=True)


async def _wait_for_end(pid: int, started: int | None) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # unsupported, or out of file descriptors
        while is_process(pid, started):
            await asyncio.sleep(_POLL_SECONDS)
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        # Another process may have received the pid before the handle was opened.
        if is_process(pid, started):
            loop.add_reader(handle, ended.set)
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def fetch(address: Address, path: str, key: str) -> bytes:
    """Return the body of an instance's response. Raises OSError, or ValueError if it is invalid."""
    context = make_client_context(address.certificate) if address.certificate else None
    reader, writer = await asyncio.open_connection(address.host, address.port, ssl=context)
    try:
        lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"{KEY_HEADER}: {key}"]
        writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        answer = await reader.read(_LARGEST_HEALTH)
        while more := await reader.read(_LARGEST_HEALTH):
            answer += more
            if len(answer) > _LARGEST_HEALTH:
                raise ValueError("the health response is too long")
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise ValueError("the key was rejected")
    return body
