"""Regular expressions from a page, evaluated in a process that can be killed.

A pattern such as `(?P<a>(x+)+)$` can run forever. Such a pattern would block all
threads of this process, and therefore all pages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from runfold._humanize import escape
from runfold._reduce.groups import search_names
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._reduce.groups import Key

_SECONDS = 2.0
_CODE = """
import json, re, sys
pattern, names = json.load(sys.stdin)
matches = map(re.compile(pattern).search, names)
json.dump([match and match.groupdict() for match in matches], sys.stdout)
"""


def search_apart(pattern: str, names: Sequence[str]) -> Sequence[Key | None]:
    """Like `search_names`, but raise CannotFold if the search takes longer than two seconds."""
    search_names(pattern, ())  # raises an error if the pattern is invalid
    return _search(pattern, tuple(names))


@lru_cache(16)  # all charts of a page use the same pattern
def _search(pattern: str, names: tuple[str, ...]) -> list[Key | None]:
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CODE],
            input=json.dumps([pattern, names]).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.SubprocessError:
        raise CannotFold(
            f"'{escape(pattern)}' was cancelled: searching {len(names):,} names took longer than"
            f" {_SECONDS:g} s. Avoid nested repeats such as `(a+)+`."
        ) from None
    groups: list[Key | None] = json.loads(done.stdout)
    return groups
