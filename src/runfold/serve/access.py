"""Who may come in: the names that the server answers to, and its secrets."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?")

# Links for programs that open a browser. Of one that did not, the link is forgotten in time.
_FURTHER = 100


def _make_secret() -> str:
    return secrets.token_urlsafe(32)  # 256 bits


@dataclass(slots=True)
class Access:
    """The secrets of one server, which end with it, and its names.

    Attributes:
        port: where it listens; the cookie's name has it, because browsers send
            the cookies of one host to all its ports.
        hosts: the names and addresses by which it may be called, besides loopback.
        has_login: whether anything must be proved at all.
        token: what a program sends, as `Authorization: Bearer TOKEN`.
        on_login: called after the link was used, when there is a new one to tell.
    """

    port: int = 0
    hosts: frozenset[str] = frozenset()
    has_login: bool = True
    token: str = field(default_factory=_make_secret, repr=False)
    on_login: Callable[[], object] = field(default=lambda: None, repr=False)
    _cookie: str = field(default_factory=_make_secret, repr=False)
    _ticket: str = field(default_factory=_make_secret, repr=False)
    _further: list[str] = field(default_factory=list, repr=False)

    @property
    def cookie_name(self) -> str:
        """The name of the cookie that a browser has after its login."""
        return f"runfold-{self.port}"

    @property
    def link(self) -> str:
        """The path that logs a browser in, once."""
        return f"/login?token={self._ticket}" if self.has_login else "/"

    def make_link(self) -> str:
        """A further path that logs a browser in, once; of those not used only the last are kept."""
        if not self.has_login:
            return "/login"
        self._further = [*self._further, _make_secret()][-_FURTHER:]
        return f"/login?token={self._further[-1]}"

    def log_in(self, ticket: str) -> str | None:
        """The value of the cookie for the ticket of a link, which is used up; None for another."""
        for further in self._further:
            if _is_same(ticket, further):
                self._further.remove(further)
                return self._cookie
        if not _is_same(ticket, self._ticket):
            return None
        self._ticket = _make_secret()
        self.on_login()
        return self._cookie

    def knows_cookie(self, value: str) -> bool:
        """Whether a browser has logged in."""
        return _is_same(value, self._cookie)

    def knows_token(self, value: str) -> bool:
        """Whether a program has the token."""
        return _is_same(value, self.token)

    def answers_to(self, host: str) -> bool:
        """Whether a Host header names this server, rather than a page's own server.

        Only loopback addresses and exact names: a page whose name was bound anew,
        to 127.0.0.1, still sends its own name here.
        """
        found = _HOST.fullmatch(host.lower())
        if found is None:
            return False
        name = found[1] or found[2]
        return name == "localhost" or name in self.hosts or is_loopback(name)


def is_loopback(address: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_same(given: str, secret: str) -> bool:
    # In the same time wherever the two differ; a header may hold any character.
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
