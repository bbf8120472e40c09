"""One real TensorBoard in its own process.

    python -m runfold._serve.tensorboards.child FOLDER

It shows the runs selected in FOLDER/settings.json to clients that have the key. It listens on a
free loopback port and writes the port number to FOLDER/address.json. It ends on SIGTERM, when it
is idle, when it has received no requests for a long time, when its folder is deleted, or when
another process replaces it. FOLDER/ending.json then contains the reason. Its output is its log.

The process imports only what it needs, so that the first page appears as soon as with
plain `tensorboard`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn

from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Follower, Sources
from runfold._serve.tensorboards.link_tree import Home, note_homes, update_tree
from runfold._serve.tensorboards.process_files import (
    Address,
    read_json,
    write_address,
    write_json,
)
from runfold._storage.url import is_url
from runfold._story.processes import started_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._serve.tensorboards.key_gate import Gate

# Exit status if TensorBoard is missing or too old. A restart would not help.
UNUSABLE = 3
LOADER_LOST = 4
OLDEST = (2, 16)

_POLL_SECONDS = 2.0
# Looking for new runs takes at most a twentieth of the time, however many runs there are.
_POLL_RATIO = 20.0
# Shortest and longest pause between two listings of a store. A listing costs money, but most of
# its time is spent waiting. The maximum limits the pause after a listing that hung.
_STORE_SECONDS = (5.0, 30.0)
# Longer than any restart of the service takes.
_UNHEARD_SECONDS = 300.0
_FIRST_LOOK_SECONDS = 20.0

_STOPPED = "Stopped on request."


def main() -> None:
    """Run until there is a reason to end."""
    Child(*read_settings()).run()


def read_settings() -> tuple[str, dict[str, Any]]:
    """Return the folder that the command line names, and the settings in it."""
    folder = os.path.abspath(sys.argv[1])
    settings = read_json(os.path.join(folder, "settings.json"))
    if settings is None:
        sys.exit(f"{folder} has no settings.json, so there is nothing to show.")
    return folder, settings


class Child:
    """The process of one instance."""

    # The address to listen on.
    _host = "127.0.0.1"

    def __init__(self, folder: str, settings: dict[str, Any]) -> None:
        self._folder = folder
        self._tree = os.path.join(folder, "tree")
        self._settings = settings
        self._options = Options.from_json(settings["options"])
        self._unheard = float(settings.get("unheard", _UNHEARD_SECONDS))
        sources = Sources.from_json(settings["sources"])
        self._is_remote = any(map(is_url, sources.logdirs))
        self._follower = Follower(sources)
        self._homes: dict[str, Home] = {}
        self._gate: Gate | None = None
        self._runs = self._files = 0
        self._problem = ""
        self._has_looked = threading.Event()
        self._stop = threading.Event()

    def run(self) -> NoReturn:
        """Serve and keep the tree up to date until the process ends."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        self._write("process.json", {"pid": os.getpid(), "started": started_at(os.getpid())})
        # Look up the runs while TensorBoard is being imported: the import takes most of the time.
        threading.Thread(target=self._keep_refreshing, name="runfold-look", daemon=True).start()
        program = self._import_tensorboard()
        self._has_looked.wait(_FIRST_LOOK_SECONDS)
        if self._stop.is_set():
            self._end(0, _STOPPED)
        self._launch(program)
        self._print("TensorBoard is running.")
        loaders = _find_children()
        timeout = self._options.idle_timeout
        pause = min(1.0, timeout / 4) if timeout else 1.0
        while not self._stop.wait(pause):
            reason = self._reason()
            if reason:
                self._end(0, reason, loaders)
            if not all(map(_is_running, loaders)):
                self._end(LOADER_LOST, "TensorBoard's data loader has exited.", loaders)
        self._end(0, _STOPPED, loaders)

    def _keep_refreshing(self) -> None:
        """Refresh the runs repeatedly, in a thread, so that a hanging disk blocks nothing else."""
        while True:
            began = time.monotonic()
            self._refresh()
            self._has_looked.set()
            time.sleep(pause_after(time.monotonic() - began, self._is_remote))

    def _refresh(self) -> None:
        """Update the tree. Errors are printed, and the next refresh tries again."""
        try:
            runs = self._follower.resolve()
            problem = self._follower.problem
            self._homes = note_homes(self._tree, runs)
            update_tree(self._tree, runs)
            self._runs = len(runs)
            self._files = sum(len(run.files) for run in runs.values())
        except Exception as error:
            problem = f"Cannot look up the runs: {error}"
        if problem and problem != self._problem:
            self._print(problem)
        self._problem = problem

    def _reason(self) -> str:
        """Return the reason to end now, or an empty string."""
        assert self._gate is not None
        current = read_json(os.path.join(self._folder, "process.json"))
        if current is None or current.get("pid") != os.getpid():
            return "The instance's folder was deleted, or another process runs the instance now."
        timeout = self._options.idle_timeout
        if timeout and self._gate.idle() >= timeout:
            return f"Idle for {timeout:g} s."
        if self._gate.unheard() >= timeout + self._unheard:
            return "The instance received no requests for a long time, not even from the service."
        return ""

    def _import_tensorboard(self) -> Any:
        """Return the module that creates servers; end the process if it cannot be used."""
        try:
            from tensorboard import program, version
        except ImportError as error:
            if error.name and error.name.partition(".")[0] != "tensorboard":
                fact = f"TensorBoard cannot be imported: {error}."
            else:
                fact = "TensorBoard is not installed or is broken."
            self._end(UNUSABLE, f"{fact} Run: pip install -U tensorboard")
        numbers = tuple(map(int, re.findall(r"\d+", version.VERSION)[:2]))
        if numbers < OLDEST:
            self._end(
                UNUSABLE,
                f"TensorBoard {version.VERSION} is too old: {'.'.join(map(str, OLDEST))} or later "
                "is required. Run: pip install -U tensorboard",
            )
        return program

    def _launch(self, program: Any) -> None:
        """Start TensorBoard in threads of this process."""
        arguments = [
            "tensorboard",
            f"--logdir={self._tree}",
            f"--path_prefix={self._settings['prefix']}",
            f"--host={self._host}",
            "--port=0",
            *self._options.to_arguments(),
        ]
        os.makedirs(self._tree, exist_ok=True)
        _open_assets(self._find_asset)
        board = program.TensorBoard(server_class=self._make_server_class(program))
        board.configure(arguments)
        board.launch()
        # Keep `board`, because it owns the pipe by which its data loader detects that this
        # process ended.
        self._board = board

    def _make_server_class(self, program: Any) -> Any:
        """Return TensorBoard's server, with the gate in front of it."""
        child = self

        class Server(program.WerkzeugServer):  # type: ignore[misc]
            request_queue_size = 1024

            def __init__(self, app: Any, flags: Any) -> None:
                super().__init__(child._make_gate(app), flags)
                child._note_listening(self)

            def get_request(self) -> Any:
                request, address = super().get_request()
                # Otherwise, a body can wait until the client has acknowledged the headers, for
                # up to 40 ms.
                request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return request, address

        return Server

    def _note_listening(self, server: Any) -> None:
        self._write_address(Address(server.server_port))

    def _write_address(self, address: Address) -> None:
        write_address(os.path.join(self._folder, "address.json"), address, os.getpid())

    def _find_asset(self, path: str, config: str) -> str:
        """Return the file that a projector's configuration in the tree names. Raises ValueError."""
        home = self._homes.get(os.path.normpath(config))
        file = None if home is None else home.find(path)
        if file is None:
            raise ValueError(f'No file "{path}" in the folder of this run.')
        return file

    def _make_gate(self, app: Any) -> Any:
        from runfold._serve.tensorboards.key_gate import Gate, digest_key

        key_digest = digest_key(self._settings["key"])
        self._gate = Gate(app, self._settings["prefix"], key_digest, self._describe_runs)
        return self._gate

    def _describe_runs(self) -> dict[str, object]:
        return {"runs": self._runs, "event_files": self._files, "problem": self._problem}

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_json(os.path.join(self._folder, name), content)

    def _print(self, text: str) -> None:
        moment = time.strftime("%Y-%m-%d %H:%M:%S")
        print(f"{moment} runfold: {text}", file=sys.stderr, flush=True)

    def _end(self, status: int, reason: str, loaders: list[Any] | None = None) -> NoReturn:
        self._print(reason)
        with contextlib.suppress(OSError):  # the folder may have been deleted
            self._write("ending.json", {"pid": os.getpid(), "status": status, "reason": reason})
        for loader in loaders or ():
            loader.terminate()
        for loader in loaders or ():
            _wait(loader)
        # gRPC threads can hang during a normal interpreter shutdown.
        os._exit(status)


def pause_after(seconds: float, is_remote: bool) -> float:
    """Return how many seconds to wait after a search for runs that took `seconds`."""
    pause = _POLL_RATIO * seconds
    if is_remote:
        shortest, longest = _STORE_SECONDS
        return max(shortest, min(pause, longest))
    return max(_POLL_SECONDS, pause)


def _open_assets(find: Callable[[str, str], str]) -> None:
    """Let the projector read the files that a configuration names in its run's folder.

    TensorBoard looks for these files next to the configuration, but the tree contains
    only a link to the configuration itself.
    """
    from tensorboard.plugins.projector import projector_plugin

    # If TensorBoard has removed this function, its own check rejects these files.
    if hasattr(projector_plugin, "_rel_to_abs_asset_path"):
        projector_plugin._rel_to_abs_asset_path = find


def _find_children() -> list[Any]:
    """Return the processes that TensorBoard started: its data loader, if this platform has one."""
    import psutil

    return psutil.Process().children()  # type: ignore[no-any-return]


def _is_running(process: Any) -> bool:
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _wait(process: Any) -> None:
    import psutil

    try:
        process.wait(5)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(5)


if __name__ == "__main__":
    main()
