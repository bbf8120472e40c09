"""The hparams of a run: conversion of the values, and the session that contains them."""

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
# Deeper than any real configuration; ends the recursion if a mapping contains itself.
_DEEPEST = 100


class Session:
    """The hparams of one run, from the first call until the writer is closed.

    Only the process that started a session ends it; a forked worker does not.

    Attributes:
        folder: the run's folder.
        start_time: seconds since 1970.
        settings: all hparams so far; later values replace earlier ones.
        is_begun: whether any hparams were written.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.start_time = time.time()
        self.settings: dict[str, Setting] = {}
        self.is_begun = False
        self._next_step = 0
        self._process = os.getpid()
        # An exception that is already being handled when the run starts, such as one from a failed
        # first attempt, does not mark the run as failed.
        self._initial_error = raised_now()
        watch_exit()

    @property
    def is_ours(self) -> bool:
        """Whether this process started the session."""
        return os.getpid() == self._process

    def add(self, settings: Mapping[str, Setting]) -> list[bytes]:
        """Add hparams and return the values to write: an empty list if nothing changed."""
        merged = {**self.settings, **settings}
        # Compare as text, because NaN does not equal itself.
        is_new = repr(merged) != repr(self.settings)
        if self.is_begun and not is_new:
            return []
        if self.is_begun:
            self._warn_about_change(merged)
        self.settings, self.is_begun = merged, True
        return [value_encoding.hparams_start(merged, self.start_time)]

    def take_step(self, step: int | None) -> int:
        """Return the step of a trial's metrics. Default: the trial's next step, starting at 0."""
        used = self._next_step if step is None else step
        self._next_step = max(self._next_step, used + 1)
        return used

    def end(self, raised: BaseException | None = None) -> list[bytes]:
        """Return the value that ends the session; an empty list if another process started it."""
        has_failed = not (raised is None or raised is self._initial_error or _is_clean(raised))
        self._initial_error = None
        if not (self.is_begun and self.is_ours):
            return []
        return [value_encoding.hparams_end("failure" if has_failed else "success", time.time())]

    def _warn_about_change(self, merged: Mapping[str, Setting]) -> None:
        names = [
            name
            for name, value in merged.items()
            if name not in self.settings or repr(value) != repr(self.settings[name])
        ]
        warn_caller(
            f"TensorBoard will not show {human_list(names)}: it only shows the hparams that were "
            "logged first for a run. Runfold shows all of them. Log all hparams of a run in one "
            "call, and give each trial its own run_name."
        )


def sort_arguments(
    third: Any, fourth: Any, step: Any, name: StrPath | None
) -> tuple[Any, StrPath | None, Any]:
    """Return domains, name and step from torch's or tensorboardX's argument order.

    After hparams and metrics, torch has domains, name and step; tensorboardX has name and step.
    """
    if isinstance(third, str | os.PathLike):
        third, name = None, third
    if isinstance(fourth, str | os.PathLike):
        return third, name or fourth, step
    return third, name, fourth if step is None else step


def flatten(settings: Any, argument: str = "hparam_dict") -> dict[str, Any]:
    """Flatten nested mappings to names joined by dots. Raises CannotLog for invalid input."""
    if not isinstance(settings, Mapping):
        raise CannotLog(refuse(None, argument, settings, "expected a mapping of names to values"))
    return dict(_leaves(settings, "", argument))


def as_setting(value: Any, name: str) -> Setting:
    """Return a value as one of the hparam types: bool, float, str or None.

    An array or tensor with a single number becomes that number, a class or function its name, and
    anything else its text. Integers that float64 cannot represent exactly become text, too.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, int):
        return _as_exact_number(value)
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
    except Exception as error:  # `__str__` is the caller's code
        reason = f"its str() failed ({type(error).__name__})"
        kind = type(value)
        raise CannotLog(refuse(name, "hparam_dict", kind, reason)) from error


def as_settings(given: Any) -> dict[str, Setting]:
    """Return hparams flattened, with values converted to hparam types. Raises CannotLog."""
    return {name: as_setting(value, name) for name, value in flatten(given).items()}


def as_domains(given: Any, settings: Mapping[str, Setting]) -> dict[str, tuple[Setting, ...]]:
    """Return the possible values of hparams. Raises CannotLog for unknown names and mixed types."""
    argument = "hparam_domain_discrete"
    domains = {}
    for name, choices in flatten(given, argument).items():
        if name not in settings:
            others = human_list(near(name, settings))
            reason = "no such hparam" + (f" (did you mean {others}?)" if others else "")
            raise CannotLog(refuse(name, argument, choices, reason))
        if isinstance(choices, str | bytes) or not isinstance(choices, Iterable):
            raise CannotLog(refuse(name, argument, choices, "expected a list of values"))
        domain = tuple(as_setting(choice, name) for choice in choices)
        types = {type(value) for value in (*domain, settings[name]) if value is not None}
        if len(types) > 1:
            reason = "its values and the hparam's value have different types"
            raise CannotLog(refuse(name, argument, choices, reason))
        domains[name] = domain
    return domains


def as_metrics(given: Any) -> dict[str, float | None]:
    """Return metrics by tag; None for a metric that is logged elsewhere. Raises CannotLog."""
    argument, metrics = "metric_dict", {}
    if not isinstance(given, Mapping):
        raise CannotLog(refuse(None, argument, given, "expected a mapping of tags to numbers"))
    for tag, value in given.items():
        if not isinstance(tag, str):
            raise CannotLog(refuse(tag, argument, tag, "expected a str"))
        metrics[as_tag(tag, argument)] = None if value is None else as_number(value, tag, argument)
    return metrics


def plan(
    found: Mapping[str, Iterable[Setting]],
    domains: Mapping[str, tuple[Setting, ...]],
    metrics: Iterable[str],
) -> Experiment:
    """Return an experiment with these metrics and hparams, and all values of each hparam."""
    infos = []
    for name, own in found.items():
        choices = (*domains.get(name, ()), *own)
        types = [*{_TYPES[type(choice)] for choice in choices if choice is not None}]
        if not types:  # TensorBoard has no column for hparams without a type
            continue
        # An hparam's type may differ between trials. Without an experiment, TensorBoard also shows
        # such an hparam as a string.
        kind = types[0] if len(types) == 1 else "string"
        domain = tuple(_domain_values(*choices)) if name in domains and len(types) == 1 else None
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
            raise CannotLog(refuse(name, argument, shown, "mappings are nested too deeply"))


def _as_exact_number(value: int) -> Setting:
    """Return an integer as float64 if that is exact, else as text, to keep 64-bit seeds."""
    try:
        number = float(value)
    except OverflowError:
        return hex(value)  # Python refuses to convert more than 4,300 digits to decimal
    return number if number == value else str(int(value))


def _single(value: Any, name: str) -> Setting:
    """Return the single number of an array or tensor, or None if it has none or several."""
    try:
        if math.prod(value.shape) != 1:
            return None
        item = as_array(value, name, "hparam_dict").reshape(()).item()
    except (CannotLog, TypeError):  # the shape of ragged tensors is unknown
        return None
    if isinstance(item, bool):
        return item
    if isinstance(item, int):
        return _as_exact_number(item)
    return float(item) if isinstance(item, float) else None


def _domain_values(*choices: Setting) -> Iterator[Setting]:
    """Yield each value once. TensorBoard hides runs with any other value."""
    for choice in dict.fromkeys(choices):
        # TensorBoard sends the values to its page as JSON, which has only finite numbers.
        if choice is not None and (not isinstance(choice, float) or np.isfinite(choice)):
            yield choice


def _is_clean(failure: BaseException) -> bool:
    return isinstance(failure, SystemExit) and failure.code in (None, 0)
