"""Files by sftp: fsspec's driver, made to outlast its connection and to serve many threads.

Imported by who opens such a URL, and by nobody else.
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

# A server that says nothing for so long is taken for dead.
_SECONDS = 60.0


class Sftp(SFTPFileSystem):  # type: ignore[misc]
    """A server's files. Connects at the first use, and again where the connection was lost.

    Each thread has a channel of its own, since an answer that another thread reads is lost.
    """

    def __init__(self, host: str, **ssh_kwargs: Any) -> None:
        self._connecting = threading.Lock()
        self._own = threading.local()
        super().__init__(host, **ssh_kwargs)

    def _connect(self) -> None:
        """Nothing yet: who cannot be reached now may be there at the first call."""
        self.client: SSHClient | None = None

    @property
    def ftp(self) -> SFTPClient:
        """This thread's channel. Raises OSError, PermissionError for who is not let in."""
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
        """Copy a file there, into a folder that is there; tells how far it is."""
        self.ftp.put(lpath, rpath, lambda done, _: callback.absolute_update(done))

    def makedirs(self, path: str, exist_ok: bool = False, mode: int = 0o777) -> None:
        """Make a folder and those above it; another run may make them at the same time."""
        try:
            is_there = stat.S_ISDIR(self.ftp.stat(path or "/").st_mode or 0)
        except FileNotFoundError:
            is_there = False
            self.makedirs(path.rpartition("/")[0], exist_ok=True, mode=mode)
            try:
                self.ftp.mkdir(path, mode)
            except OSError:
                if not self.isdir(path):
                    raise
        if is_there and not exist_ok:
            raise FileExistsError(path)


def open_sftp(url: str) -> tuple[Sftp, str]:
    """The server of a URL, not connected yet, and the path there, in which no letter is special."""
    scheme, _, rest = url.partition("://")
    head, slash, path = rest.partition("/")
    place = urlsplit(f"{scheme}://{head}")
    options = {
        "port": place.port,
        # A URL has signs such as `/` in a password as %2F.
        "username": place.username and unquote(place.username),
        "password": place.password and unquote(place.password),
    }
    given = {name: value for name, value in options.items() if value}
    return Sftp(place.hostname or "", **given), slash + path


def _connect(host: str, options: dict[str, Any]) -> SSHClient:
    client = paramiko.SSHClient()
    # A server with another key than the one that is known is refused.
    client.load_system_host_keys()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    times = dict.fromkeys(("timeout", "banner_timeout", "auth_timeout"), _SECONDS)
    try:
        client.connect(host, **times, **options)
    except BaseException as error:
        transport = client.get_transport()
        is_there = transport is not None and transport.is_active()
        client.close()
        raise _translate(error, is_there) from None
    return client


def _translate(error: BaseException, is_there: bool) -> BaseException:
    """An error of connecting as one of Python's own: a server that is there has said no."""
    if isinstance(error, NoValidConnectionsError):
        return ConnectionError(error.strerror)
    if isinstance(error, paramiko.BadHostKeyException):
        return PermissionError(f"{error}. If the server was set up anew, see ~/.ssh/known_hosts")
    if isinstance(error, paramiko.AuthenticationException):
        return PermissionError("the server takes neither the password nor a key of ~/.ssh")
    if isinstance(error, paramiko.SSHException):
        return (PermissionError if is_there else ConnectionError)(str(error))
    return error
