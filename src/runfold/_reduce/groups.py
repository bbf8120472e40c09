"""Groups of runs: by hparams, by a pattern in their names, or by folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import REDUCED_SUFFIX
from runfold._humanize import did_you_mean, escape, human_count, human_list, natural_key, show_value
from runfold._tables.by_run.run_columns import MOST_HPARAMS
from runfold._tables.found_config.found_settings import HPARAMS
from runfold._tables.frames.hparam_values import read_settings
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from runfold._logdir.run_log import RunLog

PARENT, RUN = "parent", "run"

Criterion = str | Callable[[Any], object]
By = Criterion | Sequence[Criterion] | None
Key = dict[str, Any]
# Returns the named groups of a pattern for each name; None if it does not match.
Search = Callable[[str, Sequence[str]], Sequence[Key | None]]


@dataclass(frozen=True, slots=True)
class Members:
    """The runs of one group before the reduction; see `Group` for the other attributes."""

    name: str
    key: Key
    logs: list[RunLog]
    hparams: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups in natural order of their names, and sentences on runs that are in no group."""

    groups: list[Members]
    left_out: list[str] = field(default_factory=list)


def search_names(pattern: str, names: Sequence[str]) -> list[Key | None]:
    """Return the named groups of a regular expression for each name; None if it does not match.

    Raises CannotFold if the pattern is invalid. A pattern such as `(?P<a>(x+)+)$` can take
    arbitrarily long and block all other threads.
    """
    try:
        search = re.compile(pattern).search
    except (re.error, OverflowError, RecursionError) as error:
        raise CannotFold(
            f"'{escape(pattern)}' is not a valid regular expression: {error}."
        ) from None
    return [match.groupdict() if (match := search(name)) else None for name in names]


def make_groups(logs: Iterable[RunLog], by: By = None, search: Search = search_names) -> Grouping:
    """Divide runs into groups; if `by` is None, all runs form one group with an empty name.

    A criterion in `by` is one of the following:

    - the name of an hparam
    - "parent" for the run's folder, or "run" for each run separately
    - a regular expression with named groups, which `search` looks for in the run's name
    - a function of the log that returns a value, or several values by name

    Runs without a value for a criterion are left out and reported. Raises CannotFold if no run has
    a value.

    Runs written by an earlier reduction are left out.
    """
    runs, left_out = _choose(list(logs))
    settings = read_settings(runs)
    keys = [_key_function(criterion, runs, settings, search) for criterion in _each(by)]
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
            # Compare by type and repr, because True equals 1.0 and NaN does not equal itself.
            known = tuple((name, type(value).__name__, repr(value)) for name, value in key.items())
            found.setdefault(known, (key, []))[1].append(log)
    if runs and not found:
        reason, names = next(iter(keyless.items()))
        raise CannotFold(f"No run has {reason}; the first run is '{escape(names[0])}'.")
    for reason, names in keyless.items():
        left_out.append(f"{human_count(len(names), 'run')} without {reason}: {human_list(names)}")
    groups = [
        Members(_name(key, by), key, members, _share(members, settings))
        for key, members in found.values()
    ]
    _refuse_equal_names(groups)
    return Grouping(sorted(groups, key=lambda group: natural_key(group.name)), left_out)


def _each(by: By) -> list[Criterion]:
    if by is None:
        return []
    return [by] if isinstance(by, str) or callable(by) else list(by)


def _choose(logs: list[RunLog]) -> tuple[list[RunLog], list[str]]:
    """Leave out runs written by an earlier reduction, unless there are no others."""
    others = [log for log in logs if not _is_folded(log)]
    reduced = len(logs) - len(others)
    if not others or not reduced:
        return logs, []
    return others, [f"{human_count(reduced, 'run')} that an earlier `reduce` wrote"]


def _is_folded(log: RunLog) -> bool:
    files = log.files
    # Most runs are recognized by their first file.
    if not files or not files[0].path.endswith(REDUCED_SUFFIX):
        return False
    return all(file.path.endswith(REDUCED_SUFFIX) for file in files)


def _key_function(
    criterion: Criterion,
    runs: list[RunLog],
    settings: Mapping[str, Mapping[str, Any]],
    search: Search,
) -> tuple[str, Callable[[RunLog], Key | None]]:
    """Return a description of what runs without a key lack, and a function that returns keys."""
    if not isinstance(criterion, str):
        return "a group from the function", lambda log: _named(criterion(log))
    if criterion == PARENT:
        return "a folder", lambda log: {PARENT: log.name.rpartition("/")[0] or "."}
    if criterion == RUN:
        return "a name", lambda log: {RUN: log.name}
    if "(?P<" in criterion:
        names = [log.name for log in runs]
        matches = dict(zip(names, search(criterion, names), strict=True))
        return f"a name that matches '{escape(criterion)}'", lambda log: matches[log.name]
    known = {name for log in runs for name in settings.get(log.name, {})}
    if runs and criterion not in known:
        raise CannotFold(_no_hparam(criterion, sorted(known)))

    def hparam_of(log: RunLog) -> Key | None:
        own = settings.get(log.name, {})
        return {criterion: _as_logged(own[criterion])} if criterion in own else None

    return f"the hparam '{escape(criterion)}'", hparam_of


def _as_logged(value: Any) -> Any:
    """Return an integer from a file as a float, the type that a logged hparam has."""
    if type(value) is int and int(float(value)) == value:
        return float(value)
    return value


def _no_hparam(name: str, known: list[str]) -> str:
    if re.search(r"[\\()\[\]*+?^$|]", name):
        hint = "A pattern must have a named group: '(?P<algo>[a-z]+)/seed'."
    elif known:
        hint = did_you_mean(name, [*known, PARENT, RUN]) or f"Available: {human_list(known, 20)}."
    else:
        hint = f"The runs have no hparams; '{PARENT}' groups them by folder."
    return f"No hparam '{escape(name)}' in any run. {hint}"


def _named(value: object) -> Key | None:
    if value is None:
        return None
    named = dict(value) if isinstance(value, Mapping) else {"group": value}
    # Convert to Python types, because the repr of NumPy's 0.1 is `np.float64(0.1)`.
    return {
        str(name): part.item() if isinstance(part, np.generic) else part
        for name, part in named.items()
    }


def _free(name: str, taken: Key) -> str:
    """Return the name, or `name2`, `name3`, ... if it is already taken."""
    if name not in taken:
        return name
    numbered = (f"{name}{number}" for number in count(2))
    return next(candidate for candidate in chain([name], numbered) if candidate not in taken)


def _name(key: Key, by: By) -> str:
    if _each(by) in ([PARENT], [RUN]) or list(key) == ["group"]:
        return show_value(next(iter(key.values())))
    return ",".join(f"{name}={show_value(value)}" for name, value in key.items())


def _share(logs: list[RunLog], settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the hparams that are equal in all runs; if there are many, only the logged ones."""
    first, *others = [settings.get(log.name, {}) for log in logs]
    shared = {
        name: value
        for name, value in first.items()
        if all(name in hparams and hparams[name] == value for hparams in others)
    }
    if len(shared) <= MOST_HPARAMS:
        return shared
    sources: dict[str, dict[str, str]] = {}
    read_settings(logs[:1], sources)
    return {name: value for name, value in shared.items() if sources[logs[0].name][name] == HPARAMS}


def _refuse_equal_names(groups: list[Members]) -> None:
    names: dict[str, Members] = {}
    for group in groups:
        twin = names.setdefault(group.name, group)
        if twin is not group:
            raise CannotFold(
                f"Two groups would have the name '{escape(group.name)}': "
                f"{twin.key} and {group.key}. Group by something that tells them apart: a "
                "pattern for the run's name or, in Python, a function."
            )
