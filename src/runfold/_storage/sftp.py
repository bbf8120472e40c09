"""SFTP: fsspec's driver, extended to reconnect and to work in several threads.

Imported only when an SFTP URL is opened.
"""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import paramiko  # type: ignore[import-untyped]
from fsspec.callbacks import DEFAULT_CALLBACK  # noqa: TID253
from fsspec.implementations.sftp import SFTPFileSystem  # noqa: TID253
from paramiko.ssh_exception import NoValidConnectionsError  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from paramiko import SFTPClient, SSHClient

# A server that does not answer for this many seconds is considered dead.
_SECONDS = 60.0


class Sftp(SFTPFileSystem):  # type: ignore[misc]
    """A server's files. Connects on first use, and again if the connection was lost.

    Each thread has its own channel, because an answer read by another thread is lost.
    """

    def __init__(self, host: str, **ssh_kwargs: Any) -> None:
        self._connecting = threading.Lock()
        self._own = threading.local()
        super().__init__(host, **ssh_kwargs)

    def _connect(self) -> None:
        """Do not connect yet: an unreachable server may be reachable when it is first used."""
        self.client: SSHClient | None = None

    @property
    def ftp(self) -> SFTPClient:
        """This thread's channel. Raises OSError, or PermissionError if access is denied."""
        channel: SFTPClient | None = getattr(self._own, "channel", None)
        if channel is None or channel.get_channel().closed:
            channel = self._own.channel = self._connected().open_sftp()
            channel.get_channel().settimeout(_SECONDS)
        return channel

    def _connected(self) -> SSHClient:
        with self._connecting:
            transport = self.client and self.client.get_transport()
            if self.client is None or transport is None or not transport.is_active():
                self.client = _connect(self.host, self.ssh_kwargs)
            return self.client

    def put_file(self, lpath: str, rpath: str, callback: Any = DEFAULT_CALLBACK) -> None:
        """Upload a file into an existing folder and report the progress."""
        self.ftp.put(lpath, rpath, lambda done, _: callback.absolute_update(done))

    def makedirs(self, path: str, exist_ok: bool = False, mode: int = 0o777) -> None:
        """Create a folder and its parents; another run may create them at the same time."""
        try:
            exists = stat.S_ISDIR(self.ftp.stat(path or "/").st_mode or 0)
        except FileNotFoundError:
            exists = False
            self.makedirs(path.rpartition("/")[0], exist_ok=True, mode=mode)
            try:
                self.ftp.mkdir(path, mode)
            except OSError:
                if not self.isdir(path):
                    raise
        if exists and not exist_ok:
            raise FileExistsError(path)


def open_sftp(url: str) -> tuple[Sftp, str]:
    """Return a URL's server, not yet connected, and its path, without decoding escapes."""
    scheme, _, rest = url.partition("://")
    head, slash, path = rest.partition("/")
    server = urlsplit(f"{scheme}://{head}")
    options = {
        "port": server.port,
        # Characters such as `/` in a password are escaped as %2F.
        "username": server.username and unquote(server.username),
        "password": server.password and unquote(server.password),
    }
    given = {name: value for name, value in options.items() if value}
    return Sftp(server.hostname or "", **given), slash + path


def _connect(host: str, options: dict[str, Any]) -> SSHClient:
    client = paramiko.SSHClient()
    # Servers whose key differs from the known key are rejected.
    client.load_system_host_keys()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    times = dict.fromkeys(("timeout", "banner_timeout", "auth_timeout"), _SECONDS)
    try:
        client.connect(host, **times, **options)
    except BaseException as error:
        transport = client.get_transport()
        is_active = transport is not None and transport.is_active()
        client.close()
        raise _translate(error, is_active) from None
    return client


def _translate(error: BaseException, is_active: bool) -> BaseException:
    """Convert a connection error to a built-in exception; `is_active` means access was denied."""
    if isinstance(error, NoValidConnectionsError):
        return ConnectionError(error.strerror)
    if isinstance(error, paramiko.BadHostKeyException):
        return PermissionError(
            f"{error}. If the server was reinstalled, remove its old key from ~/.ssh/known_hosts"
        )
    if isinstance(error, paramiko.AuthenticationException):
        return PermissionError("the server accepts neither the password nor a key from ~/.ssh")
    if isinstance(error, paramiko.SSHException):
        return (PermissionError if is_active else ConnectionError)(str(error))
    return error
