"""The hparams of a run: what callers give as settings, and the session that has them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from runfold._events import value_encoding
from runfold._events.kinds.hparams import Experiment, HParam, Metric
from runfold._humanize import human_list, near, utf8
from runfold._log.writer.convert import as_array, as_number, as_tag, refuse
from runfold._log.writer.exit_reason import raised_now, watch_exit
from runfold._warnings import warn_caller
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Iterator

Setting: TypeAlias = bool | float | str | None
StrPath: TypeAlias = str | os.PathLike[str]

_TYPES: dict[type, str] = {bool: "bool", float: "float64", str: "string"}
# Deeper than any configuration; a mapping that holds itself has no end.
_DEEPEST = 100


class Session:
    """The hparams of one run, from its first ones until the writer is closed.

    Only the process that began a session ends it: a forked worker does not.

    Attributes:
        folder: the run's folder.
        start_time: seconds since 1970.
        settings: all hparams so far; a later value replaces an earlier one.
        is_begun: whether any were written.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.start_time = time.time()
        self.settings: dict[str, Setting] = {}
        self.is_begun = False
        self._next_step = 0
        self._process = os.getpid()
        # A run that begins while an exception is handled, as after a failed first
        # attempt, does not fail because of it.
        self._known = raised_now()
        watch_exit()

    @property
    def is_ours(self) -> bool:
        """Whether this process began the session."""
        return os.getpid() == self._process

    def add(self, settings: Mapping[str, Setting]) -> list[bytes]:
        """Take hparams and return the values to write: none if nothing is new."""
        merged = {**self.settings, **settings}
        # As text, because NaN does not equal itself.
        is_new = repr(merged) != repr(self.settings)
        if self.is_begun and not is_new:
            return []
        if self.is_begun:
            self._warn_of_change(merged)
        self.settings, self.is_begun = merged, True
        return [value_encoding.hparams_start(merged, self.start_time)]

    def take_step(self, step: int | None) -> int:
        """Return the step of metrics of a trial: the one after the last, from 0, if None."""
        taken = self._next_step if step is None else step
        self._next_step = max(self._next_step, taken + 1)
        return taken

    def end(self, raised: BaseException | None = None) -> list[bytes]:
        """Return the value that says how the session ended: none if it never began here."""
        has_failed = not (raised is None or raised is self._known or _is_clean(raised))
        self._known = None
        if not (self.is_begun and self.is_ours):
            return []
        return [value_encoding.hparams_end("failure" if has_failed else "success", time.time())]

    def _warn_of_change(self, merged: Mapping[str, Setting]) -> None:
        names = [
            name
            for name, value in merged.items()
            if name not in self.settings or repr(value) != repr(self.settings[name])
        ]
        warn_caller(
            f"TensorBoard will not show {human_list(names)}: it keeps the first hparams of a run, "
            "and those were logged before. Runfold shows all of them. Give all hparams of a run in "
            "one call, and each trial its own run_name."
        )


def sort_arguments(
    third: Any, fourth: Any, step: Any, name: StrPath | None
) -> tuple[Any, StrPath | None, Any]:
    """Return domains, name and step from what stands in torch's or in tensorboardX's places.

    After hparams and metrics, torch has domains, a name and the step; tensorboardX has
    a name and the step.
    """
    if isinstance(third, str | os.PathLike):
        third, name = None, third
    if isinstance(fourth, str | os.PathLike):
        return third, name or fourth, step
    return third, name, fourth if step is None else step


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
        metrics[as_tag(tag, argument)] = None if value is None else as_number(value, tag, argument)
    return metrics


def plan(
    found: Mapping[str, Iterable[Setting]],
    domains: Mapping[str, tuple[Setting, ...]],
    metrics: Iterable[str],
) -> Experiment:
    """The experiment with these hparams, given by all values that they have, and metrics."""
    infos = []
    for name, own in found.items():
        choices = (*domains.get(name, ()), *own)
        types = [*{_TYPES[type(one)] for one in choices if one is not None}]
        if not types:  # TensorBoard has no column for what has no type
            continue
        # Trials may disagree. TensorBoard, where it has no experiment, calls that a string too.
        kind = types[0] if len(types) == 1 else "string"
        domain = tuple(_listed(*choices)) if name in domains and len(types) == 1 else None
        infos.append(HParam(name, "", "", kind, domain))
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
    """Each value once. Those of the runs are among them, or TensorBoard would hide the runs."""
    for one in dict.fromkeys(choices):
        # JSON, in which TensorBoard's page gets it, has no other numbers.
        if one is not None and (not isinstance(one, float) or np.isfinite(one)):
            yield one


def _is_clean(failure: BaseException) -> bool:
    return isinstance(failure, SystemExit) and failure.code in (None, 0)
