"""Access: the host names that the server accepts, and the server's secrets."""

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

# Maximum number of login links for programs that open a browser. The oldest unused ones are
# dropped.
_FURTHER = 100
# Maximum number of browser sessions. A login beyond this limit ends the oldest session.
_SESSIONS = 100

LOGIN = "/login"
# Path at which a server proves that it has its token. Only then do programs send the token.
PROOF = "/proof"
_TICKET = re.compile(r"[A-Za-z0-9_-]{43}")


def _make_secret() -> str:
    return secrets.token_urlsafe(32)  # 256 bits


def make_private_name() -> str:
    """Return a random host name below `localhost`, which browsers resolve to this machine.

    A browser sends a host's cookies to all its ports, so another user's server on
    another port of 127.0.0.1 would receive them. No other server uses this name.
    """
    return f"{secrets.token_hex(16)}.localhost"  # 128 bits


def make_login_path(ticket: str, instance: str = "") -> str:
    """Return the path that logs a browser in, and then opens an instance if one is given.

    Pass an empty ticket for a server without login. Raises ValueError for a malformed
    ticket: tickets may be untrusted, and must not redirect to another host.
    """
    if ticket and not _TICKET.fullmatch(ticket):
        raise ValueError("Not a login ticket.")
    query = {"token": ticket, "tensorboard": instance}
    return f"{LOGIN}?{urlencode({name: value for name, value in query.items() if value})}"


def make_proof(token: str, nonce: str) -> str:
    """Return the response to a nonce that only a server with the token can compute."""
    return hmac.new(token.encode(), f"runfold {nonce}".encode(), "sha256").hexdigest()


@dataclass(slots=True)
class Access:
    """A server's names, and its secrets, which are valid until it stops.

    Attributes:
        port: port of the server. The port is part of the cookie's name, because
            browsers send a host's cookies to all its ports.
        hosts: names and addresses, besides loopback, that a Host header can have.
        name: private name below `localhost` for browsers. If set, cookies are accepted
            under this name only. Empty if browsers use `hosts`.
        has_login: whether clients must log in at all.
        token: what a program sends, as `Authorization: Bearer TOKEN`.
        on_login: called after the login link has been used and replaced.
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
        """Name of the cookie that a browser gets when it logs in."""
        return f"runfold-{self.port}"

    @property
    def link(self) -> str:
        """Path that logs a browser in, once."""
        return make_login_path(self._ticket) if self.has_login else "/"

    def make_ticket(self) -> str:
        """Return another ticket for one login; the oldest unused tickets expire.

        The ticket is empty if the server has no login.
        """
        if not self.has_login:
            return ""
        self._further = [*self._further, _make_secret()][-_FURTHER:]
        return self._further[-1]

    def has_ticket(self, ticket: str) -> bool:
        """Whether a ticket can still be used."""
        return any(_is_same(ticket, known) for known in (self._ticket, *self._further))

    def log_in(self, ticket: str) -> str | None:
        """Use up a ticket; return the cookie of a new session, or None if the ticket is wrong."""
        if not self.has_ticket(ticket):
            return None
        self._sessions = [*self._sessions, _make_secret()][-_SESSIONS:]
        if _is_same(ticket, self._ticket):
            self._ticket = _make_secret()
            self.on_login()
        else:
            self._further = [known for known in self._further if not _is_same(ticket, known)]
        return self._sessions[-1]

    def knows_cookie(self, value: str, host: str) -> bool:
        """Whether a cookie belongs to a session, and was sent to the right host."""
        is_known = any(_is_same(value, session) for session in self._sessions)
        return is_known and self.keeps_cookies_of(host)

    def knows_token(self, value: str) -> bool:
        """Whether a value is the server's token."""
        return _is_same(value, self.token)

    def answers_to(self, host: str) -> bool:
        """Whether a Host header names this server.

        Only loopback addresses and exact names are accepted. A page that uses DNS
        rebinding to reach 127.0.0.1 still sends its own name.
        """
        name, _ = _split(host)
        is_own = name == "localhost" or name in self.hosts or is_loopback(name)
        return is_own or (bool(name) and _is_same(name, self.name))

    def keeps_cookies_of(self, host: str) -> bool:
        """Whether browsers can log in under the name in a Host header."""
        return not self.name or _is_same(_split(host)[0], self.name)

    def move(self, host: str) -> str:
        """Return the URL at which browsers log in, with the port from a Host header.

        The port can be that of an SSH tunnel.
        """
        _, port = _split(host)
        return f"http://{self.name}:{port}" if port else f"http://{self.name}"


def _split(host: str) -> tuple[str, str]:
    """Return the name or address and the port in a Host header; two empty strings if invalid."""
    match = _HOST.fullmatch(host.lower())
    return (match[1] or match[2], match[3] or "") if match else ("", "")


def is_loopback(address: str) -> bool:
    """Whether an address is reachable only from this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_same(given: str, secret: str) -> bool:
    # Compared in constant time, as bytes, because a header can contain any character.
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
