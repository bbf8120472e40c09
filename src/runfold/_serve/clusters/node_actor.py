"""The actor that runs an instance's TensorBoard on a node of a Ray cluster.

TensorBoard runs in its own process, which ends with the actor. Its files are in a temporary
folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, TypedDict

from runfold import __version__
from runfold._humanize import escape
from runfold._serve.clusters.node_folder import make_folder, remove_unused
from runfold._serve.tensorboards.instance_runs import Sources, exists
from runfold._serve.tensorboards.process_files import read_address, read_json, write_json
from runfold._storage.url import is_url

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHILD = (sys.executable, "-P", "-m", "runfold._serve.clusters.node_child")

# Output that nobody has fetched yet; the oldest is dropped.
_MOST_OUTPUT = 1 << 20
_PIECE = 64 << 10
_END_SECONDS = 5.0
# How many names in a logdir are compared to recognize it.
_NAMES = 50


class Request(TypedDict):
    """What an actor needs to know.

    `loopback` identifies the loopback network of the service, and `names` has some names in
    each logdir there.
    """

    version: str
    settings: dict[str, Any]
    loopback: str
    names: dict[str, list[str]]


class Node(TypedDict):
    """The node of an actor, and why it cannot run the instance; empty if it can."""

    id: str
    name: str
    problem: str


class Report(TypedDict):
    """News from an actor: new output, and where TensorBoard listens or how it has ended."""

    output: bytes
    port: int | None
    host: str
    certificate: str
    ending: tuple[int, str] | None


class NodeActor:
    """TensorBoard on the node of this actor. Ray calls the methods in several threads."""

    def __init__(self) -> None:
        self._folder = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._changed = threading.Condition()
        self._output = bytearray()
        self._has_ended = False

    def start(self, request: Request) -> Node:
        """Start TensorBoard, and return on which node."""
        import ray

        host: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        name = f"{socket.gethostname()} ({host})"
        node: Node = {
            "id": ray.get_runtime_context().get_node_id(),
            "name": name,
            "problem": find_problem(request),
        }
        if not node["problem"]:
            is_near = request["loopback"] and request["loopback"] == identify_loopback()
            self._spawn({**request["settings"], "host": "127.0.0.1" if is_near else host})
        return node

    def report(self, seconds: float) -> Report:
        """Return what is new; wait up to `seconds` for output."""
        with self._changed:
            self._changed.wait_for(lambda: self._output or self._has_ended, seconds)
            output, self._output = bytes(self._output), bytearray()
            ending = self._read_ending() if self._has_ended else None
        assert self._process is not None
        address = read_address(os.path.join(self._folder, "address.json"), self._process.pid)
        return {
            "output": output,
            "port": None if address is None else address.port,
            "host": "" if address is None else address.host,
            "certificate": "" if address is None else address.certificate,
            "ending": ending,
        }

    def stop(self) -> bytes:
        """End TensorBoard, remove its files, and return its last output."""
        if self._process is not None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
            # Sent even if the process has ended, because processes that it started may remain.
            self._signal(signal.SIGKILL)
            with self._changed:
                self._changed.wait_for(lambda: self._has_ended, _END_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)
        with self._changed:
            output, self._output = bytes(self._output), bytearray()
        return output

    def _spawn(self, settings: dict[str, Any]) -> None:
        remove_unused()
        self._folder, lock = make_folder()
        write_json(os.path.join(self._folder, "settings.json"), settings)
        self._process = subprocess.Popen(
            [*_CHILD, self._folder],
            # Closed by the system when this process ends.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
            start_new_session=True,
            pass_fds=[lock],
        )
        os.close(lock)
        reading = threading.Thread(target=self._read_output, daemon=True)
        reading.start()
        threading.Thread(target=self._await_end, args=(reading,), daemon=True).start()

    def _read_output(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while piece := os.read(self._process.stdout.fileno(), _PIECE):
            with self._changed:
                self._output += piece
                del self._output[:-_MOST_OUTPUT]
                self._changed.notify_all()

    def _await_end(self, reading: threading.Thread) -> None:
        assert self._process is not None
        self._process.wait()
        # Another process may have kept the pipe open.
        reading.join(_END_SECONDS)
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _read_ending(self) -> tuple[int, str]:
        assert self._process is not None
        ending = read_json(os.path.join(self._folder, "ending.json"))
        if ending is not None and ending["pid"] == self._process.pid:
            return ending["status"], ending["reason"]
        return self._process.returncode, ""

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def identify_loopback() -> str:
    """Return a text that is equal for processes with the same 127.0.0.1; empty if unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/net')}"
    except OSError:  # not Linux
        return ""


def list_names(logdirs: Iterable[str]) -> dict[str, list[str]]:
    """Return some names in each logdir that is a readable folder of this machine."""
    names: dict[str, list[str]] = {}
    for logdir in logdirs:
        if not is_url(logdir):
            with contextlib.suppress(OSError):
                # Every logdir can have a hidden folder of Runfold's.
                shown = (name for name in os.listdir(logdir) if not name.startswith("."))
                names[logdir] = sorted(shown)[:_NAMES]
    return names


def find_problem(request: Request) -> str:
    """Return why TensorBoard cannot show the selected runs on this node; empty if it can."""
    if request["version"] != __version__:
        return (
            f"It has Runfold {__version__}, and the service has {request['version']}. Install"
            " the same version on both."
        )
    for logdir in Sources.from_json(request["settings"]["sources"]).logdirs:
        names = request["names"].get(logdir)
        if is_url(logdir):
            continue
        if not exists(logdir):
            fact = f"It cannot see {escape(logdir)}."
        elif names and not any(os.path.lexists(os.path.join(logdir, name)) for name in names):
            # Many machines have a folder such as /home/me/runs.
            fact = f"Its folder {escape(logdir)} is not the one of the service's machine."
        else:
            continue
        return (
            f"{fact} Put the logs on a file system that all nodes share, or in a store,"
            " and use its URL."
        )
    return ""
