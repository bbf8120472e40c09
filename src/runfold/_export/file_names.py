"""File and folder names made from the names of runs and tags."""

from __future__ import annotations

import re
import unicodedata

from runfold._humanize import free_name

# Well below the limit of most file systems, 255 bytes.
LONGEST_NAME = 200
_NOT_ON_WINDOWS = '<>:"|?*'
# Device names on Windows, with any suffix.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def safe_name(name: str, unsafe: str = "") -> str:
    """Return a safe folder name that is different for each name.

    Characters that are not allowed in it, including those in `unsafe`, are escaped as in
    a URL: `a/b` becomes `a%2Fb`.
    """
    never = "/\\%" + unsafe
    safe = "".join(
        char if char.isprintable() and char not in never else _quote(char) for char in name
    )
    if safe.startswith("."):
        safe = _quote(".") + safe[1:]
    if len(safe.encode()) > LONGEST_NAME:
        from hashlib import sha256

        digest = sha256(safe.encode()).hexdigest()[:16]
        safe = safe.encode()[: LONGEST_NAME - 18].decode(errors="ignore") + "%~" + digest
    return safe


def portable_name(name: str) -> str:
    """Return a safe name for any file system, including those on Windows; `%` for an empty name."""
    safe = safe_name(name, _NOT_ON_WINDOWS)
    if safe.endswith((".", " ")):
        safe = safe[:-1] + _quote(safe[-1])
    if _DEVICE.match(safe):
        safe = _quote(safe[0]) + safe[1:]
    return safe or "%"


class Claims:
    """Paths in use, compared as on a file system that ignores case and Unicode normalization."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, stem: str, suffix: str) -> str:
        """Return the path, with `~2`, `~3`, ... before its suffix if it is in use."""
        free = free_name(stem, lambda free: _fold(free + suffix) in self._taken, "{}~{}") + suffix
        self._taken.add(_fold(free))
        return free


def _fold(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _quote(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
