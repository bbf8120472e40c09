"""TensorBoard's Rust data server as a child process, queried through TensorBoard's provider."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_of


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has read its whole logdir."""

    provider: Any
    pid: int

    def peak(self) -> int:
        """The server's peak memory in bytes."""
        return peak_of(self.pid)


def data_server() -> Callable[[Path, str], AbstractContextManager[Server]]:
    """Return a function that starts the server on a logdir; packages are imported here."""
    from tensorboard.data.server_ingester import ExistingServerDataIngester, get_server_binary
    from tensorboard.util.grpc_util import ChannelCredsType

    binary = get_server_binary().path

    @contextmanager
    def start(logdir: Path, samples: str) -> Iterator[Server]:
        command = [
            binary,
            f"--logdir={logdir}",
            f"--samples-per-plugin={samples}",
            "--reload=once",
            "--port=0",
            "--die-after-stdin",
            "--verbose",
        ]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with process:
            # The server prints its address and when it has read everything, so polling
            # is not necessary.
            address = _wait_for(process, "listening on ").rpartition(" ")[2]
            _wait_for(process, "Finished load cycle")
            ingester = ExistingServerDataIngester(
                address, channel_creds_type=ChannelCredsType.LOCAL
            )
            yield Server(ingester.data_provider, process.pid)
            # It exits when its input ends, and its time counts only after it has exited.
            process.communicate()

    return start


def _wait_for(process: "subprocess.Popen[str]", phrase: str) -> str:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if phrase in line:
            return line.strip()
    raise RuntimeError(f"the data server exited without printing {phrase!r}: {''.join(lines)}")
