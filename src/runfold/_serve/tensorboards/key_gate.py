"""A gate in front of TensorBoard: it checks the key, adds a script and tracks usage.

Every user and program on the machine can reach loopback, so each request must have
the instance's key; the proxy adds it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Environ = dict[str, Any]
    Respond = Callable[..., Any]
    Application = Callable[[Environ, Respond], Iterable[bytes]]

KEY_HEADER = "X-Runfold-Key"

# Pages report once a minute that they are open. Browsers slow down hidden pages, so two reports
# can be missed.
_PAGE_SECONDS = 150.0
_MOST_PAGES = 1000

_SCRIPT_TAG = b'<script src="runfold/page.js"></script>'

# TensorBoard reads this setting at startup. A value set by the user is left alone.
_SCRIPT = b"""\
(() => {
  "use strict";
  const settings = "_tb_global_settings";
  try {
    const kept = JSON.parse(localStorage.getItem(settings) ?? "{}");
    if (!("autoReload" in kept)) {
      localStorage.setItem(settings, JSON.stringify({...kept, autoReload: true}));
    }
  } catch {
    // Without storage, TensorBoard does not reload automatically; its button still works.
  }
  const page = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const say = (state) => navigator.sendBeacon(`runfold/page?page=${page}&state=${state}`);
  say("open");
  setInterval(say, 60000, "open");
  addEventListener("pagehide", () => say("closed"));
  addEventListener("pageshow", (event) => event.persisted && say("open"));
})();
"""


def digest_key(key: str) -> str:
    """Return what a gate needs to know about a key: enough to check it, but not the key itself."""
    return hashlib.sha256(key.encode()).hexdigest()


class Gate:
    """Admits only clients that have the key to TensorBoard's application, and records usage."""

    def __init__(
        self,
        app: Application,
        prefix: str,
        key_digest: str,
        describe: Callable[[], object],
        admit: Callable[[Environ], object] = lambda environ: None,
    ) -> None:
        self._app = app
        self._prefix = prefix
        self._key_digest = key_digest
        # Called with each request that has the key.
        self._admit = admit
        # Returns the fields of the health response, except usage.
        self._describe = describe
        self._lock = threading.Lock()
        self._pages: dict[str, float] = {}
        self._active = 0
        self._requests = 0
        self._used = self._heard = time.monotonic()

    def __call__(self, environ: Environ, start_response: Respond) -> Iterable[bytes]:
        """Handle a request."""
        sent_key = str(environ.get("HTTP_X_RUNFOLD_KEY", ""))
        if not secrets.compare_digest(digest_key(sent_key), self._key_digest):
            return _answer(start_response, "403 Forbidden", b"Forbidden\n", "text/plain")
        self._admit(environ)
        path = f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}"
        below = path.removeprefix(self._prefix) if path.startswith(self._prefix) else ""
        self._heard = time.monotonic()
        if below == "/runfold/health":
            health = json.dumps(self.health()).encode()
            return _answer(start_response, "200 OK", health, "application/json")
        if below == "/runfold/page":
            return self._take_page(environ, start_response)
        if below == "/runfold/page.js":
            return _answer(start_response, "200 OK", _SCRIPT, "text/javascript; charset=utf-8")
        with self._lock:
            self._requests += 1
            self._active += 1
        self._used = self._heard
        try:
            if below in ("/", "/index.html") and environ["REQUEST_METHOD"] == "GET":
                body = _add_script(self._app, environ, start_response)
            else:
                body = self._app(environ, start_response)
        except BaseException:
            self._leave()
            raise
        return _Body(body, self._leave)

    def health(self) -> dict[str, object]:
        """Return the usage, for the supervisor."""
        details = self._describe()
        return {
            "requests": self._requests,
            "idle": self.idle(),
            "open_pages": self._open_pages(),
            **(details if isinstance(details, dict) else {}),
        }

    def idle(self) -> float:
        """Return the seconds since the last request, or 0 if a page is open."""
        if self._active or self._open_pages():
            return 0.0
        return time.monotonic() - self._used

    def unheard(self) -> float:
        """Return the seconds since the last request, counting requests from the supervisor too."""
        return 0.0 if self._active else time.monotonic() - self._heard

    def _open_pages(self) -> int:
        now = time.monotonic()
        with self._lock:
            for page, seen in list(self._pages.items()):
                if now - seen > _PAGE_SECONDS:
                    del self._pages[page]
                    # The idle time counts from when the page was last open.
                    self._used = max(self._used, seen)
            return len(self._pages)

    def _take_page(self, environ: Environ, start_response: Respond) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "POST":
            return _answer(start_response, "405 Method Not Allowed", b"", "text/plain")
        fields = parse_qs(environ.get("QUERY_STRING", ""))
        page = fields.get("page", [""])[0][:40]
        with self._lock:
            if fields.get("state") == ["closed"]:
                self._pages.pop(page, None)
                self._used = time.monotonic()
            elif page and (page in self._pages or len(self._pages) < _MOST_PAGES):
                self._pages[page] = time.monotonic()
        return _answer(start_response, "204 No Content", b"", "text/plain")

    def _leave(self) -> None:
        with self._lock:
            self._active -= 1
        self._used = time.monotonic()


class _Body:
    """A response body that reports when it has been completely sent or abandoned."""

    def __init__(self, body: Iterable[bytes], leave: Callable[[], None]) -> None:
        self._body = body
        self._leave = leave
        self._is_left = False

    def __iter__(self) -> Any:
        return iter(self._body)

    def close(self) -> None:
        """Report the end. The server calls this when it is done with the body."""
        if self._is_left:
            return
        self._is_left = True
        self._leave()
        close = getattr(self._body, "close", None)
        if close is not None:
            close()

    # Werkzeug does not call `close` if the client disconnects early.
    __del__ = close


def _add_script(app: Application, environ: Environ, start_response: Respond) -> Iterable[bytes]:
    """Return TensorBoard's page with our script before its own."""
    begun: list[Any] = []

    def begin(status: str, headers: list[tuple[str, str]], *rest: Any) -> Callable[[bytes], None]:
        begun[:] = [status, headers]
        return lambda data: None

    parts = app(environ, begin)
    body = b"".join(parts)
    close = getattr(parts, "close", None)
    if close is not None:
        close()
    status, headers = begun
    is_page = any(
        name.lower() == "content-type" and value.startswith("text/html") for name, value in headers
    )
    if is_page and status.startswith("200"):
        before, head, after = body.partition(b"<head>")
        # Per HTML's rules, a page without a head tag gets one at its first script.
        body = before + head + _SCRIPT_TAG + after if head else _SCRIPT_TAG + body
        # TensorBoard loads its fonts from the root path, which fails under a prefix.
        body = body.replace(b"url(/font-roboto/", b"url(font-roboto/")
    kept = [(name, value) for name, value in headers if name.lower() != "content-length"]
    start_response(status, [*kept, ("Content-Length", str(len(body)))])
    return [body]


def _answer(start_response: Respond, status: str, body: bytes, kind: str) -> Iterable[bytes]:
    headers = [
        ("Content-Type", kind),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    start_response(status, headers)
    return [body]
