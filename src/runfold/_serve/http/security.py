"""The guard before every route: it checks host, origin and login, and sets security headers.

The guard is a plain ASGI layer outside all others, so it covers every route, file,
stream and error page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response

from runfold._serve.http.access import LOGIN, PROOF, make_login_path, make_proof
from runfold._serve.http.connections import ADMIT
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import error_response
from runfold._serve.http.json_response import JsonResponse

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from runfold._serve.http.access import Access
    from runfold._serve.tensorboards.registry import InstanceRegistry

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:;"
    " media-src 'self' blob:; connect-src 'self'; frame-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

# Prefix of TensorBoard's pages, which need their own policy.
PROXY = "/proxy/"

# Paths that do not require a login.
_OPEN = (LOGIN, PROOF)
_DATA = ("/api/", PROXY)
_SAFE = ("GET", "HEAD")
_OWN = ("same-origin", "none")
# Policy for TensorBoard responses without a policy: data, images and scripts.
_PLAIN = "default-src 'self'"
_PROXIED = re.compile(rf"{PROXY}[0-9a-f]+/")
_NONCE = re.compile("[0-9a-f]{64}")


class Guard:
    """Admits only requests from logged-in clients that name this server and come from its page.

    All other requests get the same 403 response, whatever the reason.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or reject it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # This server has no WebSockets.
            await send({"type": "websocket.close", "code": 1008})
            return

        refusal = self._refuse(scope)
        if refusal is None and scope["path"] not in _OPEN:
            # Let the connection know that its client has logged in.
            scope.get("state", {}).get(ADMIT, lambda: None)()

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                own = headers.get("Content-Security-Policy")
                mark(headers)
                if refusal is None:
                    _mark_proxied(headers, own, scope)
            await send(message)

        try:
            await (refusal or self._app)(scope, receive, send_marked)
        except Exception:
            # The error layer has already responded and logged the error before raising it again.
            return

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        method: str = scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.answers_to(hosts[0]):
            return _forbidden()
        is_open = scope["path"] in _OPEN
        has_token = self._has_token(headers)
        if not is_open and self._access.has_login and not (has_token or self._has_cookie(headers)):
            return _forbidden()
        if not self._is_from_own_page(headers, method, scope["path"], has_token):
            return _forbidden()
        is_json = _media_type(headers) == "application/json"
        # TensorBoard's own page posts forms.
        if method not in _SAFE and not is_json and not scope["path"].startswith(PROXY):
            return error_response("The body must be application/json.", 415)
        return None

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._access.knows_token(token.strip())

    def _has_cookie(self, headers: Headers) -> bool:
        cookie = cookie_parser(headers.get("cookie", "")).get(self._access.cookie_name, "")
        return self._access.knows_cookie(cookie, headers["host"])

    def _is_from_own_page(self, headers: Headers, method: str, path: str, has_token: bool) -> bool:
        """Whether the request comes from our own page or a program, not from another site's page.

        Browsers report where a request comes from. Old browsers send only Origin, and
        not with every GET. Programs send no such header, but must send the token, which
        another page cannot make a browser send.
        """
        site = headers.get("sec-fetch-site")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers["host"]:
            return False
        if method not in _SAFE:
            return site in _OWN if site is not None else origin is not None or has_token
        if path == LOGIN:  # the link may be opened from a page such as a web terminal
            return True
        # Pages on other ports of this machine count as the same site, but are not trusted.
        return site is None or site in _OWN or (site == "same-site" and not path.startswith(_DATA))


def mark(headers: MutableHeaders) -> None:
    """Add the security headers. Browsers must not cache a response unless its route allows it."""
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", "no-store")


def _mark_proxied(headers: MutableHeaders, own: str | None, scope: Scope) -> None:
    """Set the headers of an instance's response: its own policy, restricted to its own path.

    Our page can show the instance in a frame.
    """
    match = _PROXIED.match(scope["path"])
    if match is None:
        return
    host = Headers(scope=scope)["host"]
    # A policy cannot contain an IPv6 address.
    below = "'self'" if host.startswith("[") else host + match[0]
    narrowed = f"connect-src {below}; form-action {below}; base-uri {below}; frame-ancestors 'self'"
    # The browser enforces both policies.
    headers["Content-Security-Policy"] = f"{own or _PLAIN}, {narrowed}"
    headers["X-Frame-Options"] = "SAMEORIGIN"


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _forbidden() -> Response:
    return error_response(
        "Not allowed. Open the link printed by `runfold serve`, or send its token.", 403
    )


@endpoint(f"GET {LOGIN}", response=Response)
async def log_in(request: Request) -> Response:
    """Exchange the ticket of a link for a cookie, then redirect to the page or an instance.

    A link opened under another name of this server, for example through a tunnel, is
    redirected to the private name with its ticket unused. Only a client with a ticket
    learns that name. Prefetches are rejected, so that the ticket stays valid until the
    user opens the link.
    """
    access: Access = request.app.state.access
    if request.method != "GET" or _is_ahead(request.headers):
        return _forbidden()
    cookie = None
    if access.has_login:
        host, ticket = request.headers["host"], request.query_params.get("token", "")
        if not access.keeps_cookies_of(host):
            if not access.has_ticket(ticket):
                return _forbidden()
            path = make_login_path(ticket, request.query_params.get("tensorboard", ""))
            return RedirectResponse(access.move(host) + path, 303)
        cookie = access.log_in(ticket)
        known = request.cookies.get(access.cookie_name, "")
        if cookie is None and not access.knows_cookie(known, host):
            return _forbidden()
    target = await _find_target(request)
    # When a link on another site is opened, browsers follow a redirect without the cookie.
    is_stranger = request.headers.get("sec-fetch-site", "none") not in _OWN
    response = (
        Response(headers={"Refresh": f"0; url={target}"})
        if is_stranger
        else RedirectResponse(target, 303)
    )
    if cookie is not None:
        response.set_cookie(access.cookie_name, cookie, path="/", httponly=True, samesite="strict")
    return response


def _is_ahead(headers: Headers) -> bool:
    """Whether a browser is prefetching the page before its user has opened it."""
    purposes = (headers.get(name, "") for name in ("sec-purpose", "purpose", "x-purpose", "x-moz"))
    return any(word in text.lower() for text in purposes for word in ("prefetch", "preview"))


@endpoint(f"GET {PROOF}")
async def prove(request: Request) -> Response:
    """Prove to a program that this server has the token, using the program's nonce."""
    nonce = request.query_params.get("nonce", "")
    if not _NONCE.fullmatch(nonce):
        return _forbidden()
    return JsonResponse({"proof": make_proof(request.app.state.access.token, nonce)})


async def _find_target(request: Request) -> str:
    """Return the path that a login redirects to: an existing instance, or else the page."""
    boards: InstanceRegistry | None = request.app.state.boards
    name = request.query_params.get("tensorboard", "")
    instance = await boards.find(name) if boards is not None and name else None
    return "/" if instance is None else f"{PROXY}{instance.id}/"
