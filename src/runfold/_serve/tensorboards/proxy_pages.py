"""The pages at /proxy/<id>/: the instance itself, or a message about its state."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Route

from runfold._serve.http.error_responses import error_response
from runfold._serve.http.security import PROXY

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from runfold._serve.tensorboards.instance_store import Instance
    from runfold._serve.tensorboards.registry import InstanceRegistry

_STYLE = "body{font:16px/1.5 system-ui,sans-serif;margin:3em auto;max-width:40em;padding:0 1em}"
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
<h1>{title}</h1>
<pre>{text}</pre>
"""

_UNKNOWN = "There is no TensorBoard at this URL. See the list of TensorBoards."
# Browsers reload the page after this many seconds.
_AGAIN = {"Refresh": "1", "Retry-After": "1"}


class Proxied:
    """Forwards all requests for an instance."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request of any method."""
        from runfold._serve.tensorboards.proxy import CannotReach, Target, forward

        boards: InstanceRegistry | None = getattr(scope["app"].state, "boards", None)
        id = scope["path_params"]["id"]
        instance = None if boards is None else await boards.find(id)
        if boards is None or instance is None:
            await _answer(scope, "No TensorBoard", _UNKNOWN, 404)(scope, receive, send)
            return
        if instance.address is not None and instance.state in ("WAITING", "RUNNING"):
            target = Target(instance.address, f"{PROXY}{instance.id}", instance.key)
            try:
                await forward(target, scope, receive, send)
                return
            except CannotReach:
                # The instance hangs, or it has just ended and the supervisor will notice
                # in a moment.
                instance = await boards.find(id) or instance
        await _describe_state(scope, instance)(scope, receive, send)


async def _add_slash(request: Request) -> Response:
    """Redirect to an instance's page."""
    id = request.path_params["id"]
    if not re.fullmatch("[0-9a-f]+", id):
        return _answer(request.scope, "No TensorBoard", _UNKNOWN, 404)
    return RedirectResponse(f"{PROXY}{id}/", 308)


def _describe_state(scope: Scope, instance: Instance) -> Response:
    """Return a message about an instance that does not respond."""
    if instance.state == "TERMINATED":
        status = "" if instance.exit_status is None else f" (exit status {instance.exit_status})"
        text = f"This TensorBoard has ended{status}. {instance.message}".rstrip()
        return _answer(scope, instance.name, text, 410, instance.state)
    states = {"STARTING": "is starting", "TERMINATING": "is shutting down"}
    state = states.get(instance.state, "does not respond")
    text = f"This TensorBoard {state}. {instance.message}".rstrip()
    return _answer(scope, instance.name, text, 503, instance.state)


def _answer(scope: Scope, title: str, text: str, status: int, state: str = "") -> Response:
    again = _AGAIN if status == 503 else {}
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        more = {"state": state} if state else {}
        return error_response(text, status, again, **more)
    page = _PAGE.format(title=html.escape(title), text=html.escape(text), style=_STYLE)
    policy = f"default-src 'none'; style-src 'sha256-{_HASH}'"
    return HTMLResponse(page, status, {**again, "Content-Security-Policy": policy})


ROUTES = [
    Route("/proxy/{id}", _add_slash),
    Route("/proxy/{id}/{rest:path}", Proxied()),
]
