"""The local process of an instance that runs on a Ray cluster.

    python -m runfold._serve.clusters.cluster_process FOLDER

For the supervisor, it takes the place of TensorBoard's own process: it writes the same files
to FOLDER, and its output is the instance's log. It asks the cluster for an actor that runs
TensorBoard on a node, passes on what the actor reports, and ends when the actor ends. Ray ends
the actor when this process ends, so neither can be left over.

It starts nothing twice: if the node is lost, it ends and says so, and the supervisor starts the
next process, as after any crash. The actor is then placed on another node.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn

from runfold import __version__
from runfold._humanize import escape
from runfold._serve.clusters.node_actor import NodeActor, identify_loopback, list_names
from runfold._serve.tensorboards.child import UNUSABLE, read_settings
from runfold._serve.tensorboards.instance import fetch
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.key_gate import digest_key
from runfold._serve.tensorboards.process_files import (
    Address,
    read_json,
    write_address,
    write_json,
)
from runfold._story.processes import started_at
from runfold.errors import NoCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._serve.clusters.node_actor import Node, Report, Request

# Exit status after a failure that a restart may mend.
FAILED = 5

# What Ray reserves for an instance. It is idle most of the time, so it takes no processor away
# from a cluster that trains, and it never takes a GPU. Memory keeps instances from gathering on
# one node.
MEMORY = 500_000_000

_WHAT = "`runfold tensorboard start --on ray`"
# How long to wait for a node with room. The supervisor then tries again.
_PLACE_SECONDS = 60.0
# How long one answer of the actor may take to come, and how often to look at signals meanwhile.
_REPORT_SECONDS = 2.0
_LOOK_SECONDS = 0.5
# How often to check that the cluster's head still listens, and for how long it may be away.
_HEAD_SECONDS = 3.0
_HEADLESS_SECONDS = 20.0
_CONNECT_SECONDS = 10.0
_STOP_SECONDS = 8.0
_LONGEST_ERROR = 4000

_STOPPED = "Stopped on request."


def main() -> None:
    """Run until there is a reason to end."""
    ClusterProcess(*read_settings()).run()


class ClusterProcess:
    """The local process of one instance on a cluster."""

    def __init__(self, folder: str, settings: dict[str, Any]) -> None:
        self._folder = folder
        self._settings = settings
        self._cluster = Options.from_json(settings["options"]).cluster or "auto"
        # After a first success, a failure can be temporary.
        self._failed = FAILED if settings.get("has_run") else UNUSABLE
        self._stop = threading.Event()
        self._ray: Any = None
        self._actor: Any = None
        self._node: Node | None = None
        self._is_listening = False
        self._head = _Head()

    def run(self) -> NoReturn:
        """Run TensorBoard on the cluster until this process ends."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        self._write("process.json", {"pid": os.getpid(), "started": started_at(os.getpid())})
        self._log = os.dup(2)
        self._hide_output()
        try:
            self._ray = self._connect()
            self._place()
            while True:
                self._pass_on(self._await(self._actor.report.remote(_REPORT_SECONDS)))
        except Ended as ended:
            self._end(ended.status, str(ended), ended.is_logged)
        except Exception as error:  # Ray's, whatever it is that has gone wrong
            reason = self._explain(error)
            self._print(escape(" ".join(str(error).split()), _LONGEST_ERROR))
            self._end(FAILED, reason)

    def _hide_output(self) -> None:
        """Send Ray's own output to a file, because it is about the cluster, not the instance."""
        output = os.open(
            os.path.join(self._folder, "ray.txt"), os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600
        )
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)

    def _connect(self) -> Any:
        from runfold._engines.ray_cluster import connect

        # `runfold tensorboard start` has read it in the user's shell. The service may have
        # been started in another one.
        os.environ.pop("RAY_ADDRESS", None)
        try:
            ray = connect(self._cluster, _WHAT)
        except NoCluster as error:
            raise Ended(self._failed, str(error)) from None
        with contextlib.suppress(Exception):  # a client of a cluster elsewhere does not know it
            self._head = _Head(ray.get_runtime_context().gcs_address)
        return ray

    def _place(self) -> None:
        """Start TensorBoard on a node with room."""
        settings = self._settings
        sources = Sources.from_json(settings["sources"])
        request: Request = {
            "version": __version__,
            "settings": {
                **{name: value for name, value in settings.items() if name != "key"},
                "key_digest": digest_key(settings["key"]),
            },
            "loopback": identify_loopback(),
            "names": list_names(sources.logdirs),
        }
        self._actor = (
            self._ray.remote(NodeActor)
            .options(
                num_cpus=0,
                num_gpus=0,
                memory=MEMORY,
                scheduling_strategy="SPREAD",
                max_restarts=0,
                max_concurrency=4,
            )
            .remote()
        )
        seconds = float(settings.get("place_seconds", _PLACE_SECONDS))
        node = self._await(self._actor.start.remote(request), seconds)
        if node is None:
            raise Ended(
                FAILED,
                f"No node of the Ray cluster {self._name()} has room for this TensorBoard: it needs"
                f" {MEMORY // 10**6} MB of memory. See `ray status`.",
            )
        if node["problem"]:
            raise Ended(UNUSABLE, f"Node {node['name']} cannot be used. {node['problem']}")
        self._node = node
        self._print(f"TensorBoard starts on node {node['name']}, {node['id']}.")

    def _await(self, answer: Any, seconds: float | None = None) -> Any:
        """Return what an actor's method returns; None after this many seconds.

        Raises the method's error, and Ended if this process must end first.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            done, _ = self._ray.wait([answer], timeout=_LOOK_SECONDS)
            self._check()
            if done:
                return self._ray.get(answer)
            if deadline is not None and time.monotonic() > deadline:
                return None

    def _check(self) -> None:
        """Raise Ended if this process must end now."""
        if self._stop.is_set():
            raise Ended(0, _STOPPED)
        current = read_json(os.path.join(self._folder, "process.json"))
        if current is None or current.get("pid") != os.getpid():
            raise Ended(
                0, "The instance's folder was deleted, or another process runs the instance now."
            )
        if self._head.is_lost():
            raise Ended(FAILED, f"The Ray cluster {self._name()} does not respond.")

    def _pass_on(self, report: Report) -> None:
        """Write an actor's report to the files of this process."""
        with contextlib.suppress(OSError):  # such as a full disk
            os.write(self._log, report["output"])
        if report["ending"] is not None:
            raise self._describe_end(*report["ending"])
        if report["port"] is not None and not self._is_listening:
            assert self._node is not None
            address = Address(
                report["port"], report["host"], report["certificate"], self._node["name"]
            )
            self.check_way(address)
            write_address(os.path.join(self._folder, "address.json"), address, os.getpid())
            self._is_listening = True

    def check_way(self, address: Address) -> None:
        """Raise Ended if this machine cannot reach TensorBoard on its node."""
        path = f"{self._settings['prefix']}/runfold/health"
        asking = asyncio.wait_for(
            fetch(address, path, self._settings["key"]), timeout=_CONNECT_SECONDS
        )
        try:
            asyncio.run(asking)
        except ValueError as error:
            fact = f"Another program responds at port {address.port} ({error})."
            raise Ended(FAILED, f"Node {address.node}: {fact}") from None
        except (OSError, TimeoutError) as error:
            raise Ended(
                self._failed,
                f"This machine cannot reach node {address.node} at port {address.port} ({error})."
                " Allow connections from this machine to all ports of the node, or run"
                " `runfold serve` on a machine of the cluster.",
            ) from None

    def _describe_end(self, status: int, reason: str) -> Ended:
        if status == 0:
            return Ended(0, reason, is_logged=True)
        if not reason:
            reason = f"TensorBoard exited with status {status}."
            if status < 0:
                reason = f"TensorBoard was killed by {signal.Signals(-status).name}."
        assert self._node is not None
        return Ended(status, f"Node {self._node['name']}: {reason}")

    def _explain(self, error: Exception) -> str:
        """Return what has happened to the actor, from an error of Ray."""
        if self._node is None:
            fact = f"The Ray cluster {self._name()} did not start TensorBoard"
        elif self._is_lost(self._node):
            fact = f"Node {self._node['name']} was lost"
        else:
            fact = f"The instance's process on node {self._node['name']} was lost"
        return f"{fact} ({type(error).__name__}; the log of this instance has the details)."

    def _is_lost(self, node: Node) -> bool:
        with contextlib.suppress(Exception):
            return not any(
                known["Alive"] for known in self._ray.nodes() if known["NodeID"] == node["id"]
            )
        return False

    def _name(self) -> str:
        return "of this machine" if self._cluster == "auto" else f"'{escape(self._cluster)}'"

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_json(os.path.join(self._folder, name), content)

    def _print(self, text: str) -> None:
        moment = time.strftime("%Y-%m-%d %H:%M:%S")
        with contextlib.suppress(OSError):
            os.write(self._log, f"{moment} runfold: {text}\n".encode())

    def _end(self, status: int, reason: str, is_logged: bool = False) -> NoReturn:
        if not is_logged:
            self._print(reason)
        with contextlib.suppress(OSError):  # the folder may have been deleted
            self._write("ending.json", {"pid": os.getpid(), "status": status, "reason": reason})
        if self._actor is not None:
            # Works without the cluster's head too, because actors are called directly.
            _within(_STOP_SECONDS, self._stop_actor)
        # Ray's threads can hang during a normal shutdown. The cluster notices the end of this
        # process, and then ends the actor.
        os._exit(max(status, 0) or int(status != 0))

    def _stop_actor(self) -> None:
        """End TensorBoard on its node, and pass on its last output."""
        try:
            if self._node is not None:  # otherwise, the actor may still wait for room
                output = self._ray.get(self._actor.stop.remote(), timeout=_STOP_SECONDS)
                os.write(self._log, output)
        finally:
            self._ray.kill(self._actor)
            self._ray.shutdown()


class Ended(Exception):
    """The instance ends, with this exit status and reason, which TensorBoard may have logged."""

    def __init__(self, status: int, reason: str, *, is_logged: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.is_logged = is_logged


class _Head:
    """Whether a cluster's head still listens. Without it, Ray ends this process with no reason.

    A head that has never been reached from here is ignored: a client connects to another port.
    """

    def __init__(self, address: str = "") -> None:
        host, _, port = address.rpartition(":")
        self._address = (host.strip("[]"), int(port)) if host else None
        self._seen = self._checked = -math.inf
        self._is_lost = False

    def is_lost(self) -> bool:
        """Whether the head has stopped listening, and has had enough time to restart."""
        now = time.monotonic()
        if self._address is not None and now - self._checked > _HEAD_SECONDS:
            self._checked = now
            with contextlib.suppress(OSError):
                socket.create_connection(self._address, _HEAD_SECONDS).close()
                self._seen = now
            self._is_lost = _HEADLESS_SECONDS < now - self._seen < math.inf
        return self._is_lost


def _within(seconds: float, work: Callable[[], object]) -> None:
    """Do something for at most this long. Errors are ignored."""

    def do() -> None:
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    thread.join(seconds)


if __name__ == "__main__":
    main()
