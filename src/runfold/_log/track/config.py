"""Conversion of a run's configuration to plain values, nested or flat.

Supports dicts, argparse and simple namespaces, dataclasses, attrs classes, pydantic models and
OmegaConf, without importing any package.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import re
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from runfold._humanize import free_name, utf8
from runfold._log.masking.masking import mask_mapping
from runfold._log.masking.secret_names import is_secret, known
from runfold._story.story_records import name_leaves

_DEEPEST = 30
_MOST_VALUES = 20_000
_LARGEST_ARRAY = 1_000
_LONGEST_TEXT = 100_000
_LONGEST_FLAT_TEXT = 1_000
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_VARIABLE = re.compile(r"oc\.env:\s*([A-Za-z_]\w*)")


def flatten(config: Any) -> dict[str, bool | int | float | str | None]:
    """Return the configuration as a flat dict, such as `{"optim.lr": 0.1, "layers": "[64, 64]"}`.

    Nested names are joined by dots. A list becomes JSON text, but the items of a list that contains
    mappings are numbered (`layers.0.width`). Long strings are truncated. Secrets are masked. Never
    raises: values of unknown types become text.
    """
    flat: dict[str, bool | int | float | str | None] = {}
    plain = as_plain(config)
    for name, value in name_leaves(plain if isinstance(plain, dict) else {"config": plain}):
        if isinstance(value, dict | list):
            value = json.dumps(value, ensure_ascii=False)
        if isinstance(value, str):
            value = _cut(value, _LONGEST_FLAT_TEXT)
        # A name with a dot can collide with a nested name; keep both.
        flat[free_name(name, flat.__contains__, "{}#{}")] = value
    return flat


def as_plain(config: Any) -> Any:
    """Return the configuration as JSON types: dict, list, str, numbers, bool and None.

    Secrets, including those in the environment, are masked here and in later output. Cycles,
    and values beyond the depth and size limits, become `...`. Never raises: values of unknown
    types become text.
    """
    plain = {"config": _Plain().convert(config, is_top=True)}
    known.learn(os.environ)
    known.learn(plain)
    return mask_mapping(plain)["config"]


class _Plain:
    """A conversion, with its current path and the number of values that it may still convert."""

    def __init__(self) -> None:
        self.path: list[int] = []
        self.left = _MOST_VALUES

    def convert(self, value: Any, *, is_top: bool = False) -> Any:
        self.left -= 1
        if id(value) in self.path or len(self.path) > _DEEPEST or self.left < 0:
            return "..."
        self.path.append(id(value))
        try:
            return self._convert(value, is_top)
        except Exception:  # the caller's classes may raise anything
            return _describe(value)
        finally:
            self.path.pop()

    def _convert(self, value: Any, is_top: bool) -> Any:
        if value is None or type(value) in (bool, int, float):
            return value
        if isinstance(value, enum.Enum):
            return value.value if isinstance(value.value, str) else (value.name or str(value))
        if isinstance(value, str):
            return _cut(str(value), _LONGEST_TEXT)
        if isinstance(value, os.PathLike):
            return _cut(os.fsdecode(value), _LONGEST_TEXT)
        parts = _take_apart(value, is_top)
        if isinstance(parts, Mapping):
            return self._convert_items(parts)
        if parts is not None:
            items = []
            for item in parts:
                items.append(self.convert(item))
                if self.left < 0:
                    break
            return items
        number = _as_number(value)
        return _describe(value) if number is None else self.convert(number)

    def _convert_items(self, parts: Mapping[Any, Any]) -> dict[str, Any]:
        items: dict[str, Any] = {}
        for key in parts:
            name = key if type(key) is str else self.convert(key)
            name = _cut(name if isinstance(name, str) else json.dumps(name), _LONGEST_FLAT_TEXT)
            try:
                value = parts[key]
            except Exception as error:  # a computed or missing field
                value = f"<{type(error).__name__}>"
            items[free_name(name, items.__contains__, "{}#{}")] = self.convert(value)
            if self.left < 0:
                break
        return items


def _take_apart(value: Any, is_top: bool) -> Mapping[Any, Any] | list[Any] | None:
    """Return the parts of a value as a mapping or a list, or None if it has none."""
    modules = sys.modules
    if (omegaconf := modules.get("omegaconf")) and omegaconf.OmegaConf.is_config(value):
        return _resolve(omegaconf.OmegaConf, value)
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Namespace | SimpleNamespace):
        return vars(value)
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return _Fields(value, [field.name for field in dataclasses.fields(value)])
    if hasattr(kind, "__attrs_attrs__"):
        return _Fields(value, [field.name for field in kind.__attrs_attrs__])
    for name in ("pydantic.main", "pydantic.v1.main"):
        model = getattr(modules.get(name), "BaseModel", None)
        if model is not None and isinstance(value, model):
            return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: (str(type(item)), str(item)))
    if isinstance(value, list | tuple | deque | range):
        if hasattr(value, "_asdict"):
            return dict(value._asdict())
        return list(value[:_MOST_VALUES] if isinstance(value, range) else value)
    return _take_apart_object(value) if is_top else None


def _take_apart_object(value: Any) -> Mapping[Any, Any] | None:
    """Return the attributes of an object or class such as `class Config: lr = 0.1`.

    Used only for the configuration itself, because an object inside it may be a whole model.
    """
    # Used by absl, ml_collections, transformers and others.
    for method in ("flag_values_dict", "to_dict"):
        if not isinstance(value, type) and callable(getattr(value, method, None)):
            parts = getattr(value, method)()
            if isinstance(parts, Mapping):
                return parts
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    if kinds[-2:-1] and kinds[-2].__module__ == "builtins":
        return None
    attributes: dict[str, Any] = {}
    for kind in reversed(kinds[:-1]):
        attributes |= vars(kind)
    attributes |= {} if isinstance(value, type) else getattr(value, "__dict__", {})
    public = {name: item for name, item in attributes.items() if _is_setting(name, item)}
    return public or None


def _is_setting(name: str, value: Any) -> bool:
    # Functions, properties and slots have `__get__`; a class, such as an optimizer, does not.
    return not name.startswith("_") and not hasattr(type(value), "__get__")


class _Fields(Mapping[str, Any]):
    """The fields of an object, read one by one so that an unset field does not hide the others."""

    def __init__(self, value: Any, names: list[str]) -> None:
        self.value = value
        self.names = names

    def __getitem__(self, name: str) -> Any:
        return getattr(self.value, name)

    def __iter__(self) -> Any:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _resolve(omegaconf: Any, config: Any) -> dict[Any, Any] | list[Any]:
    """Return an OmegaConf config with interpolations resolved, except those of secrets."""
    raw: dict[Any, Any] | list[Any] = omegaconf.to_container(config, resolve=False)
    try:
        resolved = omegaconf.to_container(config, resolve=True)
    except Exception:  # an interpolation refers to a missing key
        return raw
    # `${oc.env:WANDB_API_KEY}` may be stored under a harmless name, and `${login}` may refer to
    # that name.
    variables = set(_VARIABLE.findall(json.dumps(raw, default=str)))
    secrets = {os.environ.get(name, "") for name in variables if is_secret(name, name)} - {""}
    kept: dict[Any, Any] | list[Any] = _keep_references(raw, resolved, secrets)
    return kept


def _keep_references(raw: Any, resolved: Any, secrets: set[str]) -> Any:
    if isinstance(raw, dict) and isinstance(resolved, dict):
        return {key: _keep_references(raw[key], resolved[key], secrets) for key in raw}
    if isinstance(raw, list) and isinstance(resolved, list):
        pairs = zip(raw, resolved, strict=True)
        return [_keep_references(*pair, secrets) for pair in pairs]
    return raw if secrets and any(secret in str(resolved) for secret in secrets) else resolved


def _as_number(value: Any) -> Any:
    """Return a number or a small array from any framework as Python numbers, else None."""
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    shape = getattr(value, "shape", None)
    to_list: Callable[[], Any] | None = getattr(value, "tolist", None)
    if shape is None or isinstance(value, type) or to_list is None:
        return None
    size = 1
    for length in shape:
        size *= int(length)
    return to_list() if size <= _LARGEST_ARRAY else None


def _describe(value: Any) -> str:
    """Return a description of a value, without memory addresses, so that processes agree on it."""
    try:
        if isinstance(value, type) or hasattr(value, "__qualname__"):
            return f"{value.__module__}.{value.__qualname__}"
        kind: Any = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if getattr(value, "dtype", None) is not None:
            return f"<{name} {value.dtype} {tuple(value.shape)}>"
        if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
            return f"<{name}>"
        text = value.decode() if isinstance(value, bytes) else str(value)
        return _cut(_ADDRESS.sub("", text), _LONGEST_FLAT_TEXT)
    except Exception:  # its `__str__` fails
        return f"<{type(value).__name__}>"


def _cut(text: str, limit: int) -> str:
    text = utf8(text)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
