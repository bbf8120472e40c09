"""Which runs are folded together: by hparams, by a pattern over their names, by folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import REDUCED_SUFFIX
from runfold._humanize import did_you_mean, escape, human_count, human_list, natural_key, show_value
from runfold._tables.frames.hparam_values import read_settings
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from runfold._logdir.run_log import RunLog

PARENT, RUN = "parent", "run"

One = str | Callable[[Any], object]
By = One | Sequence[One] | None
Key = dict[str, Any]
# Gives the named groups of a pattern in each of some names, None where it is not found.
Search = Callable[[str, Sequence[str]], Sequence[Key | None]]


@dataclass(frozen=True, slots=True)
class Members:
    """The runs of one group, before they are folded; see `Group` for the rest."""

    name: str
    key: Key
    logs: list[RunLog]
    hparams: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups in the natural order of their names, and who is in none, in sentences."""

    groups: list[Members]
    left_out: list[str] = field(default_factory=list)


def search_names(pattern: str, names: Sequence[str]) -> list[Key | None]:
    """What the named groups of a regular expression are in each name; None where it is not found.

    Raises CannotFold for what is no regular expression. One such as `(?P<a>(x+)+)$` can
    take for ever, and no other thread does anything meanwhile.
    """
    try:
        search = re.compile(pattern).search
    except (re.error, OverflowError, RecursionError) as error:
        raise CannotFold(f"'{escape(pattern)}' is no regular expression: {error}.") from None
    return [found.groupdict() if (found := search(name)) else None for name in names]


def make_groups(logs: Iterable[RunLog], by: By = None, search: Search = search_names) -> Grouping:
    """Share runs out among groups; with `by` None all are one group with an empty name.

    Each of `by` is the name of an hparam, "parent" for the folder that a run
    is in, "run" for each run alone, a regular expression with named groups that is searched in the
    run's name, or a function of the log that gives a value, or several by
    name. A run for which one of them has no answer is left out, and said so;
    CannotFold is raised where no run has any. Patterns are looked for by `search`.

    Runs that Runfold itself wrote are not folded again.
    """
    runs, left_out = _choose(list(logs))
    settings = read_settings(runs)
    keys = [_key_function(one, runs, settings, search) for one in _each(by)]
    found: dict[tuple[tuple[str, str, str], ...], tuple[Key, list[RunLog]]] = {}
    keyless: dict[str, list[str]] = {}
    for log in runs:
        key: Key = {}
        for reason, give in keys:
            part = give(log)
            if part is None:
                keyless.setdefault(reason, []).append(log.name)
                break
            for name, value in part.items():
                key[_free(name, key)] = value
        else:
            # By type and text, because True is 1.0 to Python and NaN not even itself.
            known = tuple((name, type(value).__name__, repr(value)) for name, value in key.items())
            found.setdefault(known, (key, []))[1].append(log)
    if runs and not found:
        reason, names = next(iter(keyless.items()))
        raise CannotFold(f"No run has {reason}; there is, for example, '{escape(names[0])}'.")
    for reason, names in keyless.items():
        left_out.append(f"{human_count(len(names), 'run')} without {reason}: {human_list(names)}")
    groups = [
        Members(
            _name(key, by), key, members, _shared(settings.get(one.name, {}) for one in members)
        )
        for key, members in found.values()
    ]
    _refuse_equal_names(groups)
    return Grouping(sorted(groups, key=lambda group: natural_key(group.name)), left_out)


def _each(by: By) -> list[One]:
    if by is None:
        return []
    return [by] if isinstance(by, str) or callable(by) else list(by)


def _choose(logs: list[RunLog]) -> tuple[list[RunLog], list[str]]:
    """The runs but for those that an earlier fold wrote, unless there are no others."""
    others = [log for log in logs if not _is_folded(log)]
    ours = len(logs) - len(others)
    if not others or not ours:
        return logs, []
    return others, [f"{human_count(ours, 'run')} that an earlier reduce wrote"]


def _is_folded(log: RunLog) -> bool:
    names = [os.path.basename(file.path) for file in log.files]
    return bool(names) and all(name.endswith(REDUCED_SUFFIX) for name in names)


def _key_function(
    one: One, runs: list[RunLog], settings: Mapping[str, Mapping[str, Any]], search: Search
) -> tuple[str, Callable[[RunLog], Key | None]]:
    """What a run lacks that it gives no answer for, and the function that asks it."""
    if not isinstance(one, str):
        return "a group by the function", lambda log: _named(one(log))
    if one == PARENT:
        return "a folder", lambda log: {PARENT: log.name.rpartition("/")[0] or "."}
    if one == RUN:
        return "a name", lambda log: {RUN: log.name}
    if "(?P<" in one:
        names = [log.name for log in runs]
        found = dict(zip(names, search(one, names), strict=True))
        return f"a name that matches '{escape(one)}'", lambda log: found[log.name]
    known = {name for log in runs for name in settings.get(log.name, {})}
    if runs and one not in known:
        raise CannotFold(_no_hparam(one, sorted(known)))
    reason = f"the hparam '{escape(one)}'"

    def ask(log: RunLog) -> Key | None:
        own = settings.get(log.name, {})
        return {one: own[one]} if one in own else None

    return reason, ask


def _no_hparam(name: str, known: list[str]) -> str:
    if re.search(r"[\\()\[\]*+?^$|]", name):
        hint = "A pattern needs a named group: '(?P<algo>[a-z]+)/seed'."
    elif known:
        hint = did_you_mean(name, [*known, PARENT, RUN]) or f"There are {human_list(known, 20)}."
    else:
        hint = f"The runs have no hparams at all; '{PARENT}' groups them by folder."
    return f"No hparam '{escape(name)}' in any run. {hint}"


def _named(value: object) -> Key | None:
    if value is None:
        return None
    named = dict(value) if isinstance(value, Mapping) else {"group": value}
    # As Python's own: the repr of NumPy's 0.1 is `np.float64(0.1)`.
    return {
        str(name): one.item() if isinstance(one, np.generic) else one for name, one in named.items()
    }


def _free(name: str, taken: Key) -> str:
    """The name, or `name2`, `name3`, ... where another of `by` gave it already."""
    numbers = (f"{name}{number}" for number in count(2))
    return next(one for one in chain([name], numbers) if one not in taken)


def _name(key: Key, by: By) -> str:
    if _each(by) in ([PARENT], [RUN]) or list(key) == ["group"]:
        return show_value(next(iter(key.values())))
    return ",".join(f"{name}={show_value(value)}" for name, value in key.items())


def _shared(settings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The hparams that are the same everywhere."""
    first, *others = settings
    return {
        name: value
        for name, value in first.items()
        if all(name in one and one[name] == value for one in others)
    }


def _refuse_equal_names(groups: list[Members]) -> None:
    names: dict[str, Members] = {}
    for group in groups:
        twin = names.setdefault(group.name, group)
        if twin is not group:
            raise CannotFold(
                f"Two groups would both be called '{escape(group.name)}': "
                f"{twin.key} and {group.key}. Group by a pattern over the run's name, or in "
                "Python by a function, that tells them apart."
            )
