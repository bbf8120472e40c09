"""Name filters: select runs or tags by name, glob or list."""

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
    """Return the selected names without duplicates, in the order of `names`.

    `wanted` is a name or a glob with `*`, `?` and `[...]`, or several of them; None
    selects all names. `*` also matches `/`. A name takes precedence over a glob, so
    `loss[0]` selects the tag with that name. Raises UnknownTag or UnknownRun, depending
    on `noun`, if nothing matches; `where` ends the message's first sentence
    (`in run 'seed-1'`).

        select(["a/loss", "b/loss", "lr"], "*/loss")  ->  ["a/loss", "b/loss"]
    """
    if wanted is None:
        return list(names)
    if isinstance(wanted, bytes) or not isinstance(wanted, Iterable):
        raise TypeError(f"expected names or globs as a {noun} filter, got {wanted!r}.")
    known = frozenset(names)
    kept: set[str] = set()
    for want in [wanted] if isinstance(wanted, str) else wanted:
        if not isinstance(want, str):
            raise TypeError(f"expected names or globs as a {noun} filter, got {want!r}.")
        if want in known:
            kept.add(want)
            continue
        matched = match_glob(names, want)
        if not matched:
            raise _ERRORS[noun](_nothing(names, want, noun, where))
        kept.update(matched)
    return [name for name in dict.fromkeys(names) if name in kept]


def is_glob(text: str) -> bool:
    """Whether the text contains `*`, `?` or `[`."""
    return _MAGIC.search(text) is not None


def match_glob(names: Sequence[str], glob: str) -> list[str]:
    """Return the names that match a glob; empty if the text is not a glob."""
    if not is_glob(glob):
        return []
    matches = re.compile(fnmatch.translate(glob)).match
    return [name for name in names if matches(name)]


def _nothing(names: Sequence[str], want: str, noun: str, where: str) -> str:
    fact = f"No {noun} matches" if is_glob(want) else f"No {noun}"
    location = f" {where}" if where else ""
    hint = did_you_mean(want, names) if names else f"There are no {noun}s{location} at all."
    return f"{fact} '{escape(want)}'{location}. {hint}".rstrip()
