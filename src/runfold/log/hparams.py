"""The hparams of a run: what callers give as settings, and the session that has them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from runfold.errors import CannotLog
from runfold.events import values
from runfold.events.kinds.hparams import Experiment, HParam, Metric
from runfold.log.arrays import as_array, as_number, refuse, warn
from runfold.log.endings import raised_now, watch_exit
from runfold.text import human_list, near, utf8

if TYPE_CHECKING:
    from collections.abc import Iterator

Setting: TypeAlias = bool | float | str | None

_TYPES: dict[type, str] = {bool: "bool", float: "float64", str: "string"}
# Deeper than any configuration; a mapping that holds itself has no end.
_DEEPEST = 100


class Session:
    """What a run has said of its hparams, so that no more is written than is new.

    A session begins with the first hparams and ends with the writer, in the
    process that began it: a worker that was forked off does not end its parent's.
    """

    def __init__(self) -> None:
        self.start_time = time.time()
        self.settings: dict[str, Setting] = {}
        self.domains: dict[str, tuple[Setting, ...]] = {}
        self.metrics: list[str] = []
        self._is_begun = False
        self._process = os.getpid()
        # A run that is begun while an exception is handled, as after a failed
        # first attempt, does not fail by it.
        self._known = raised_now()
        watch_exit()

    def add(
        self,
        settings: Mapping[str, Setting],
        domains: Mapping[str, tuple[Setting, ...]],
        metrics: Iterable[str],
    ) -> list[bytes]:
        """Take what is new, and give the values that say so; none where nothing is new.

        The experiment comes with metrics or domains only: without one TensorBoard
        gathers types, domains and metrics from all runs, with one it believes the
        first run that has one.
        """
        messages = []
        names = list(dict.fromkeys([*self.metrics, *metrics]))
        wider = {**self.domains, **domains}
        merged = {**self.settings, **settings}
        is_planned = bool(names or wider)
        # As text, NaN equals itself.
        is_new = repr(merged) != repr(self.settings)
        if is_planned and (is_new or (names, wider) != (self.metrics, self.domains)):
            messages.append(values.hparams_experiment(plan(merged, wider, names)))
        if is_new or not self._is_begun:
            messages.append(values.hparams_start(merged, self.start_time))
        if is_new and self._is_begun:
            self._tell_of_change(merged)
        self.settings, self.domains, self.metrics = merged, wider, names
        self._is_begun = True
        return messages

    def end(self, raised: BaseException | None) -> list[bytes]:
        """Give the value that says how the session ended; none in another process."""
        has_failed = not (raised is None or raised is self._known or _is_clean(raised))
        self._known = None
        if os.getpid() != self._process:
            return []
        return [values.hparams_end("failure" if has_failed else "success", time.time())]

    def _tell_of_change(self, merged: Mapping[str, Setting]) -> None:
        names = [
            name
            for name, value in merged.items()
            if name not in self.settings or repr(value) != repr(self.settings[name])
        ]
        warn(
            f"The hparams of this run were logged before without these values of "
            f"{human_list(names)}. TensorBoard goes on showing the first ones, Runfold shows "
            "these. Give each trial a writer of its own."
        )


def flatten(settings: Any, argument: str = "hparam_dict") -> dict[str, Any]:
    """The leaves of nested mappings under names joined by dots. Raises CannotLog."""
    if not isinstance(settings, Mapping):
        raise CannotLog(refuse(None, argument, settings, "a mapping by name is meant"))
    return dict(_leaves(settings, "", argument))


def as_setting(value: Any, name: str) -> Setting:
    """The value as hparams hold it: bool, float, str or None.

    An array or tensor of one number is that number, a class or function its name,
    and all else its text; so is an integer whose digits a float64 cannot hold.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, int):
        return _exactly(value)
    if isinstance(value, float):
        return float(value)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        single = _single(value, name)
        if single is not None:
            return single
    if callable(value) and isinstance(getattr(value, "__name__", None), str):
        return utf8(value.__name__)
    try:
        return utf8(str(value))
    except Exception as error:  # the text is made by code of the caller's
        reason = f"it has no text ({type(error).__name__})"
        kind = type(value)
        raise CannotLog(refuse(name, "hparam_dict", kind, reason)) from error


def as_settings(given: Any) -> dict[str, Setting]:
    """Hparams as they are stored: flat, each of a type that they have. Raises CannotLog."""
    return {name: as_setting(value, name) for name, value in flatten(given).items()}


def as_domains(given: Any, settings: Mapping[str, Setting]) -> dict[str, tuple[Setting, ...]]:
    """The values that hparams may have, by name. Raises CannotLog for other names and types."""
    argument = "hparam_domain_discrete"
    domains = {}
    for name, choices in flatten(given, argument).items():
        if name not in settings:
            others = human_list(near(name, settings))
            reason = "there is no such hparam" + (f", but there is {others}" if others else "")
            raise CannotLog(refuse(name, argument, choices, reason))
        if isinstance(choices, str | bytes) or not isinstance(choices, Iterable):
            raise CannotLog(refuse(name, argument, choices, "a list of values is meant"))
        domain = tuple(as_setting(one, name) for one in choices)
        types = {type(one) for one in (*domain, settings[name]) if one is not None}
        if len(types) > 1:
            reason = "its values and that of the hparam differ in type"
            raise CannotLog(refuse(name, argument, choices, reason))
        domains[name] = domain
    return domains


def as_metrics(given: Any) -> dict[str, float | None]:
    """Metrics by tag; None names one that is logged elsewhere. Raises CannotLog."""
    argument, metrics = "metric_dict", {}
    if not isinstance(given, Mapping):
        raise CannotLog(refuse(None, argument, given, "numbers by tag are meant"))
    for tag, value in given.items():
        if not isinstance(tag, str):
            raise CannotLog(refuse(tag, argument, tag, "a tag is a str"))
        metrics[tag] = None if value is None else as_number(value, tag, argument)
    return metrics


def plan(
    settings: Mapping[str, Setting],
    domains: Mapping[str, tuple[Setting, ...]],
    metrics: Iterable[str],
) -> Experiment:
    """The experiment that has these hparams and metrics."""
    infos = []
    for name, value in settings.items():
        choices = domains.get(name)
        domain = None if choices is None else tuple(_listed(*choices, value))
        known = next((one for one in (value, *(domain or ())) if one is not None), None)
        if known is not None:  # TensorBoard has no column for what has no type
            infos.append(HParam(name, "", "", _TYPES[type(known)], domain))
    measured = tuple(Metric("", tag, "", "", None) for tag in metrics)
    return Experiment("", "", "", 0.0, tuple(infos), measured)


def _leaves(
    settings: Mapping[Any, Any], prefix: str, argument: str, depth: int = 0
) -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        name = utf8(f"{prefix}{key}")
        if not isinstance(value, Mapping) or not value:
            yield name, value
        elif depth < _DEEPEST:
            yield from _leaves(value, f"{name}.", argument, depth + 1)
        else:
            shown = type(value)
            raise CannotLog(refuse(name, argument, shown, "mappings are nested without end"))


def _exactly(value: int) -> Setting:
    """A seed of 64 bits would be another one as a float64."""
    try:
        number = float(value)
    except OverflowError:
        return hex(value)  # beyond 4,300 digits Python refuses to write others
    return number if number == value else str(int(value))


def _single(value: Any, name: str) -> Setting:
    """The one number of an array or tensor, or None where it holds something else."""
    try:
        if math.prod(value.shape) != 1:
            return None
        item = as_array(value, name, "hparam_dict").reshape(()).item()
    except (CannotLog, TypeError):  # of unknown shape, as ragged tensors are
        return None
    if isinstance(item, bool):
        return item
    if isinstance(item, int):
        return _exactly(item)
    return float(item) if isinstance(item, float) else None


def _listed(*choices: Setting) -> Iterator[Setting]:
    """Each value once. The hparam's own is among them, or TensorBoard would hide the run."""
    for one in dict.fromkeys(choices):
        # JSON, in which TensorBoard's page gets it, has no other numbers.
        if one is not None and (not isinstance(one, float) or np.isfinite(one)):
            yield one


def _is_clean(failure: BaseException) -> bool:
    return isinstance(failure, SystemExit) and failure.code in (None, 0)
