"""An S3 server for reading that is faster than its clients: the files of a folder, from memory.

moto's server answers about 600 requests per second, so it would hide the differences between
clients. It remains the server of the tests.
"""

import asyncio
import contextlib
import hashlib
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator
from email.utils import formatdate
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "benchmark"
_PAGE = 1000
_LISTING = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
)


class Objects:
    """The objects of a bucket, by key."""

    def __init__(self, folder: Path) -> None:
        self._data = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        self._keys = sorted(self._data)
        self._time = time.time()
        self._etags = {
            key: f'"{hashlib.md5(data).hexdigest()}"' for key, data in self._data.items()
        }

    def respond(self, target: str, headers: dict[str, str]) -> bytes:
        """Return the response to a GET request."""
        parts = urlsplit(target)
        _, _, key = unquote(parts.path).lstrip("/").partition("/")
        if not key:
            return self._list(parse_qs(parts.query))
        data = self._data.get(key)
        if data is None:
            return _response("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>")
        more = (
            f"ETag: {self._etags[key]}\r\nLast-Modified: {formatdate(self._time, usegmt=True)}\r\n"
        )
        if "range" not in headers:
            return _response("200 OK", data, more)
        first, _, last = headers["range"].removeprefix("bytes=").partition("-")
        start, end = int(first), min(int(last or len(data)) + 1, len(data))
        more += f"Content-Range: bytes {start}-{end - 1}/{len(data)}\r\n"
        return _response("206 Partial Content", data[start:end], more)

    def _list(self, query: dict[str, list[str]]) -> bytes:
        prefix = query.get("prefix", [""])[0]
        after = query.get("continuation-token", [""])[0]
        found = self._keys[bisect_right(self._keys, after) :][: _PAGE + 1]
        page = [key for key in found[:_PAGE] if key.startswith(prefix)]
        modified = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self._time))
        text = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{modified}</LastModified>"
            f"<ETag>{escape(self._etags[key])}</ETag><Size>{len(self._data[key])}</Size></Contents>"
            for key in page
        )
        if len(found) > _PAGE:
            token = escape(found[_PAGE - 1])
            text += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}"
            text += "</NextContinuationToken>"
        body = f"{_LISTING}{text}</ListBucketResult>".encode()
        return _response("200 OK", body, "Content-Type: application/xml\r\n")


class _Connection(asyncio.Protocol):
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._received = (self._received + data).split(b"\r\n\r\n")
        for request in requests:
            first, *lines = request.decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            self._transport.write(self._objects.respond(first.split(" ")[1], headers))


def _response(status: str, body: bytes, more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve a folder's files in another process, and yield the port.

    The process ends with the block, or when this process ends in any other way.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.object_server", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


async def _serve(folder: str) -> None:
    loop = asyncio.get_running_loop()
    objects = Objects(Path(folder))
    server = await loop.create_server(partial(_Connection, objects), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
