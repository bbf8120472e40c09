"""Regular expressions that a page asks for, searched in a process that can be ended.

One such as `(?P<a>(x+)+)$` can take for ever, and Python does nothing else meanwhile,
in no thread: all other pages would wait.
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
found = map(re.compile(pattern).search, names)
json.dump([one and one.groupdict() for one in found], sys.stdout)
"""


def search_apart(pattern: str, names: Sequence[str]) -> Sequence[Key | None]:
    """The same as `search_names`, but CannotFold where it takes longer than two seconds."""
    search_names(pattern, ())  # that it is one
    return _search(pattern, tuple(names))


@lru_cache(16)  # every chart of a page asks for the same
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
            f"'{escape(pattern)}' was given up: to look for it in {len(names):,} names took longer"
            f" than {_SECONDS:g} s. Leave out repeats within repeats, such as `(a+)+`."
        ) from None
    found: list[Key | None] = json.loads(done.stdout)
    return found
