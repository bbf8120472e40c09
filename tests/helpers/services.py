"""The service of a user with a separate state folder, and commands that use the service."""

import io
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from helpers.boards import until, write_losses
from helpers.servers import Loopback
from runfold._cli import main
from runfold._serve.tensorboards.instance_store import Instance, Store
from runfold._serve.tensorboards.process_files import read_json
from runfold._state import state_folder
from runfold._story.processes import started_at


@contextmanager
def own_state(folder: Path) -> Iterator[Path]:
    """Act as another user, as far as Runfold can see; a running service is ended afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.delenv("DISPLAY", raising=False)
        patch.delenv("WAYLAND_DISPLAY", raising=False)
        try:
            yield folder
        finally:
            end_service()


def end_service() -> None:
    """End the service normally, if there is one."""
    pid = service_pid()
    if pid is not None:
        process = psutil.Process(pid)
        process.terminate()
        process.wait(60)


def service_pid() -> int | None:
    """Return the process id of the running service, or None."""
    state = read_json(state_folder("tensorboards", "service.json"))
    return state["pid"] if state and started_at(state["pid"]) is not None else None


def kill_hard(pid: int | None) -> None:
    """Kill a process, as a system that runs out of memory does, and wait until its ports are free.

    The main thread becomes a zombie as soon as it ends, while other threads still keep
    the process's sockets open.
    """
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: started_at(pid) is None and not other_threads(pid))


def other_threads(pid: int) -> set[str]:
    """Return the ids of a process's threads, except the main one."""
    try:
        return set(os.listdir(f"/proc/{pid}/task")) - {str(pid)}
    except (FileNotFoundError, ProcessLookupError):
        return set()


def say(*argv: str | Path) -> tuple[int, str, str]:
    """Run `runfold tensorboard`; return its exit status and output."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(["tensorboard", *map(str, argv)])
    return status, out.getvalue(), err.getvalue()


def start(*argv: str | Path) -> tuple[str, str]:
    """Start an instance that responds, and return its id and link."""
    status, out, err = say("start", "--no-browser", *argv)
    assert status == 0, err
    return read_link(out)


def read_link(out: str) -> tuple[str, str]:
    """Return the id and the link that `start` and `open` print."""
    name, _, link = out.strip().partition(": ")
    return name.partition("(")[2].rstrip(")"), link


def listed(*argv: str) -> dict[str, dict[str, Any]]:
    """Return the output of `list` by instance id."""
    return {instance["id"]: instance for instance in json.loads(say("list", "--json", *argv)[1])}


def known(id: str) -> Instance:
    """Return an instance from the store."""
    store = Store()
    try:
        return store.get(id)
    finally:
        store.close()


def until_state(id: str, state: str, restarts: int = 0) -> Instance:
    """Return an instance as soon as it is in that state, after at least this many restarts."""
    return until(
        lambda: (
            found if (found := known(id)).state == state and found.restarts >= restarts else None
        )
    )


@contextmanager
def logged_in(link: str) -> Iterator[httpx.Client]:
    """Yield a client that has followed a link; its base URL is that of the instance."""
    with httpx.Client(transport=Loopback(), timeout=60, follow_redirects=True) as client:
        answer = client.get(link)
        assert answer.status_code == 200, answer.text
        client.base_url = answer.url
        yield client


def write_experiments(folder: Path, *names: str, trials: int = 2) -> Path:
    """Write experiments with a few trials each; the trials differ in their loss."""
    for number, name in enumerate(names, 1):
        for trial in range(1, trials + 1):
            write_losses(folder / name / f"seed-{trial}", *range(10 * number + trial))
    return folder
