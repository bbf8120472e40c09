"""A real SFTP server on loopback, behind a proxy that causes faults."""

import asyncio
import os
import threading
from pathlib import Path
from typing import ClassVar

import asyncssh
import pytest

from helpers.stores import Proxy

PASSWORD = "hush/hush@hush"


class SftpProxy(Proxy):
    """The proxy, with the folder and the password of its server."""

    root: Path
    password: str


class _Gate(asyncssh.SSHServer):
    """Accepts users who know the password."""

    connections: ClassVar[set[asyncssh.SSHServerConnection]] = set()

    def connection_made(self, connection):
        self.connections.add(connection)

    def begin_auth(self, username):
        return True

    def password_auth_supported(self):
        return True

    def validate_password(self, username, password):
        return (username, password) == ("me", PASSWORD)


@pytest.fixture(scope="session")
def sftp_server(tmp_path_factory):
    """A proxy in front of a server with the root folder `root`."""
    root = tmp_path_factory.mktemp("sftp")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def listen():
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=_Gate,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=os.fsencode(root)),
        )

    async def close(server):
        server.close()
        for connection in _Gate.connections:
            connection.abort()
            await connection.wait_closed()
        await server.wait_closed()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    proxy = SftpProxy(server.sockets[0].getsockname()[1])
    proxy.root, proxy.password = root, PASSWORD
    yield proxy
    proxy.refuse()
    asyncio.run_coroutine_threadsafe(close(server), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def sftp(sftp_server, tmp_path, monkeypatch):
    """The proxy without faults, and a new folder: `sftp.url`, locally `sftp.folder`."""
    sftp_server.mend()
    for name in ("home", "cache", "state"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    sftp_server.folder = sftp_server.root / tmp_path.name
    sftp_server.host = f"127.0.0.1:{sftp_server.port}"
    sftp_server.url = f"sftp://me:hush%2Fhush%40hush@{sftp_server.host}/{tmp_path.name}"
    yield sftp_server
    sftp_server.mend()
