"""The guard before every route: host, origin and login are checked, and every answer is marked.

It is a plain ASGI layer outside all others, so that no route, file, stream or
error page is without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from runfold.serve.errors import error_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from runfold.serve.access import Access

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:;"
    " media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

LOGIN = "/login"

_SAFE = ("GET", "HEAD")
_OWN = ("same-origin", "none")


class Guard:
    """Lets through only requests that name this server, come from its page, and have logged in.

    All others get the same answer, 403, whatever was wrong.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # Nothing here speaks over a WebSocket.
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                mark(MutableHeaders(scope=message))
            await send(message)

        try:
            await (self._refuse(scope) or self._app)(scope, receive, send_marked)
        except Exception:
            # Told and logged by the layer that makes errors, which raises it all the same.
            return

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        method: str = scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.answers_to(hosts[0]):
            return _forbidden()
        is_login = scope["path"] == LOGIN
        has_token = self._has_token(headers)
        if not is_login and self._access.has_login and not (has_token or self._has_cookie(headers)):
            return _forbidden()
        if not self._is_from_own_page(headers, method, scope["path"], has_token):
            return _forbidden()
        if method not in _SAFE and _media_type(headers) != "application/json":
            return error_response("The body must be application/json.", 415)
        return None

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._access.knows_token(token.strip())

    def _has_cookie(self, headers: Headers) -> bool:
        cookies = cookie_parser(headers.get("cookie", ""))
        return self._access.knows_cookie(cookies.get(self._access.cookie_name, ""))

    def _is_from_own_page(self, headers: Headers, method: str, path: str, has_token: bool) -> bool:
        """Whether no other site's page sent this request.

        A browser says where a request comes from; old ones by Origin alone, and
        that not with every GET. A program says neither, but must then show its
        token: no other page can make a browser send that.
        """
        site = headers.get("sec-fetch-site")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers["host"]:
            return False
        if method not in _SAFE:
            return site in _OWN if site is not None else origin is not None or has_token
        if path == LOGIN:  # a link in another page's terminal may lead here
            return True
        # Pages on other ports of this machine are of the same site, and strangers all the same.
        return (
            site is None or site in _OWN or (site == "same-site" and not path.startswith("/api/"))
        )


def mark(headers: MutableHeaders) -> None:
    """Add what every answer carries. Nothing is kept by a browser unless the route says so."""
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", "no-store")


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _forbidden() -> Response:
    return error_response(
        "Not allowed. Open the link that `runfold serve` printed, or send its token.", 403
    )


async def log_in(request: Request) -> Response:
    """Exchange the ticket of a link for a cookie, and go to the page."""
    access: Access = request.app.state.access
    if access.has_login:
        cookie = access.log_in(request.query_params.get("token", ""))
        if cookie is None and not access.knows_cookie(request.cookies.get(access.cookie_name, "")):
            return _forbidden()
    else:
        cookie = None
    # After a link on another site's page, a browser follows a redirect without the cookie.
    is_stranger = request.headers.get("sec-fetch-site", "none") not in _OWN
    response = (
        Response(headers={"Refresh": "0; url=/"}) if is_stranger else RedirectResponse("/", 303)
    )
    if cookie is not None:
        response.set_cookie(access.cookie_name, cookie, path="/", httponly=True, samesite="strict")
    return response


ROUTES = [Route(LOGIN, log_in)]
