"""Who may come in: the names that the server answers to, and its secrets."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Callable

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?")

# Links for programs that open a browser. Of one that did not, the link is forgotten in time.
_FURTHER = 100
# Browsers that are logged in at a time. The next login ends the oldest session.
_SESSIONS = 100

LOGIN = "/login"
# Where a server proves that it knows its token, before a program sends the token.
PROOF = "/proof"
_TICKET = re.compile(r"[A-Za-z0-9_-]{43}")


def _make_secret() -> str:
    return secrets.token_urlsafe(32)  # 256 bits


def make_private_name() -> str:
    """Return a random host name below `localhost`, which browsers resolve to this machine.

    A browser sends the cookies of a host to all its ports, so a server of another user
    on another port of 127.0.0.1 would receive them. Nobody else serves under this name.
    """
    return f"{secrets.token_hex(16)}.localhost"  # 128 bits


def make_login_path(ticket: str, instance: str = "") -> str:
    """Return the path that logs a browser in, and then shows an instance if one is given.

    An empty ticket is for a server without login. Raises ValueError for a ticket that
    no server made: it may come from a stranger, and must not lead to another host.
    """
    if ticket and not _TICKET.fullmatch(ticket):
        raise ValueError("Not a ticket for a login.")
    query = {"token": ticket, "tensorboard": instance}
    return f"{LOGIN}?{urlencode({name: value for name, value in query.items() if value})}"


def make_proof(token: str, nonce: str) -> str:
    """Return the answer to a nonce that only a server with the token can give."""
    return hmac.new(token.encode(), f"runfold {nonce}".encode(), "sha256").hexdigest()


@dataclass(slots=True)
class Access:
    """The secrets of one server, which end with it, and its names.

    Attributes:
        port: where it listens; the cookie's name has it, because browsers send
            the cookies of one host to all its ports.
        hosts: the names and addresses by which it may be called, besides loopback.
        name: the private name below `localhost` that browsers use. Cookies are then
            accepted under no other name. Empty where browsers use `hosts`.
        has_login: whether anything must be proved at all.
        token: what a program sends, as `Authorization: Bearer TOKEN`.
        on_login: called after the link was used, when there is a new one to tell.
    """

    port: int = 0
    hosts: frozenset[str] = frozenset()
    name: str = field(default="", repr=False)
    has_login: bool = True
    token: str = field(default_factory=_make_secret, repr=False)
    on_login: Callable[[], object] = field(default=lambda: None, repr=False)
    _sessions: list[str] = field(default_factory=list, repr=False)
    _ticket: str = field(default_factory=_make_secret, repr=False)
    _further: list[str] = field(default_factory=list, repr=False)

    @property
    def cookie_name(self) -> str:
        """The name of the cookie that a browser has after its login."""
        return f"runfold-{self.port}"

    @property
    def link(self) -> str:
        """The path that logs a browser in, once."""
        return make_login_path(self._ticket) if self.has_login else "/"

    def make_ticket(self) -> str:
        """Return a further ticket for one login; only the last unused ones are kept.

        It is empty where nobody has to log in.
        """
        if not self.has_login:
            return ""
        self._further = [*self._further, _make_secret()][-_FURTHER:]
        return self._further[-1]

    def has_ticket(self, ticket: str) -> bool:
        """Whether a ticket can still be used."""
        return any(_is_same(ticket, one) for one in (self._ticket, *self._further))

    def log_in(self, ticket: str) -> str | None:
        """Use up a ticket; return the cookie of a new session, or None for a wrong ticket."""
        if not self.has_ticket(ticket):
            return None
        self._sessions = [*self._sessions, _make_secret()][-_SESSIONS:]
        if _is_same(ticket, self._ticket):
            self._ticket = _make_secret()
            self.on_login()
        else:
            self._further = [one for one in self._further if not _is_same(ticket, one)]
        return self._sessions[-1]

    def knows_cookie(self, value: str, host: str) -> bool:
        """Whether a cookie is that of a browser that has logged in, and came to the right host."""
        is_known = any(_is_same(value, one) for one in self._sessions)
        return is_known and self.keeps_cookies_of(host)

    def knows_token(self, value: str) -> bool:
        """Whether a program has the token."""
        return _is_same(value, self.token)

    def answers_to(self, host: str) -> bool:
        """Whether a Host header names this server, rather than a page's own server.

        Only loopback addresses and exact names: a page whose name was bound anew,
        to 127.0.0.1, still sends its own name here.
        """
        name, _ = _split(host)
        is_own = name == "localhost" or name in self.hosts or is_loopback(name)
        return is_own or (bool(name) and _is_same(name, self.name))

    def keeps_cookies_of(self, host: str) -> bool:
        """Whether browsers may log in under the name of a Host header."""
        return not self.name or _is_same(_split(host)[0], self.name)

    def move(self, host: str) -> str:
        """Return the URL under which browsers log in, on the port of a Host header.

        The port may be that of an SSH tunnel.
        """
        _, port = _split(host)
        return f"http://{self.name}:{port}" if port else f"http://{self.name}"


def _split(host: str) -> tuple[str, str]:
    """Return the name or address and the port of a Host header; two empty texts for a bad one."""
    found = _HOST.fullmatch(host.lower())
    return (found[1] or found[2], found[3] or "") if found else ("", "")


def is_loopback(address: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_same(given: str, secret: str) -> bool:
    # In the same time wherever the two differ; a header may hold any character.
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
