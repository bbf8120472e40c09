"""Name filters: which runs or tags a caller asked for, by name, glob or list."""

import fnmatch
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from runfold._humanize import did_you_mean, escape
from runfold.errors import UnknownRun, UnknownTag

Names = str | Iterable[str] | None

_MAGIC = re.compile(r"[*?\[]")
_ERRORS = {"run": UnknownRun, "tag": UnknownTag}


def select(
    names: Sequence[str],
    wanted: Names,
    noun: Literal["run", "tag"] = "tag",
    where: str = "",
) -> list[str]:
    """Return the names that are wanted, each once, in the order of `names`.

    Each wanted is a name, or else a glob with `*`, `?` and `[...]`, where `*`
    matches `/` too. A name wins over a glob, so `loss[0]` finds the tag of
    that name. None wants all. What matches nothing raises UnknownTag or
    UnknownRun, by `noun`; `where` ends its first sentence (`in run 'seed-1'`).

        select(["a/loss", "b/loss", "lr"], "*/loss")  ->  ["a/loss", "b/loss"]
    """
    if wanted is None:
        return list(names)
    if isinstance(wanted, bytes) or not isinstance(wanted, Iterable):
        raise TypeError(f"A {noun} filter takes names and globs, not {wanted!r}.")
    known = frozenset(names)
    kept: set[str] = set()
    for want in [wanted] if isinstance(wanted, str) else wanted:
        if not isinstance(want, str):
            raise TypeError(f"A {noun} filter takes names and globs, not {want!r}.")
        if want in known:
            kept.add(want)
            continue
        matched = match_glob(names, want)
        if not matched:
            raise _ERRORS[noun](_nothing(names, want, noun, where))
        kept.update(matched)
    return [name for name in dict.fromkeys(names) if name in kept]


def is_glob(text: str) -> bool:
    """Whether the text has any of `*`, `?` and `[`."""
    return _MAGIC.search(text) is not None


def match_glob(names: Sequence[str], glob: str) -> list[str]:
    """The names that a glob matches; none for a text that is no glob."""
    if not is_glob(glob):
        return []
    matches = re.compile(fnmatch.translate(glob)).match
    return [name for name in names if matches(name)]


def _nothing(names: Sequence[str], want: str, noun: str, where: str) -> str:
    fact = f"No {noun} matches" if is_glob(want) else f"No {noun}"
    place = f" {where}" if where else ""
    hint = did_you_mean(want, names) if names else f"There are no {noun}s{place} at all."
    return f"{fact} '{escape(want)}'{place}. {hint}".rstrip()
