"""Parses YAML as plain data: dicts, lists, text, numbers, booleans and None.

Tags never run code: `!!python/tuple` becomes a list, `!!python/object:argparse.Namespace` a
dict, and `!!python/name:torch.nn.ReLU` the text `torch.nn.ReLU`. Aliases count as often as they
are used, so a file with nested aliases ("billion laughs") exceeds the limit instead of the memory.
"""

from __future__ import annotations

import math
import posixpath
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml  # type: ignore[import-untyped]

    Scalar = bool | int | float | str | None

MOST_VALUES = 50_000
DEEPEST = 30

# A line `key: value` or `key:`, where the value needs no quotes. Most files have no others.
_WORD = r"[\w./+-]"
_LINE = re.compile(
    rf"( *)([A-Za-z_][\w-]*(?:\.[\w-]+)*):(?: (?!- )({_WORD}(?:[\w./+ -]*{_WORD})?))?", re.ASCII
)
# Longer lines and values are not cached.
_LONGEST_CACHED = 120
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{
        form: is_true
        for words, is_true in (("true yes on", True), ("false no off", False))
        for word in words.split()
        for form in (word, word.capitalize(), word.upper())
    },
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,39})", re.ASCII)
# Unlike YAML 1.1, accept `1e-3`, as Python, JSON and YAML 1.2 do.
_FLOAT = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)",
    re.ASCII,
)
_STANDARD = "tag:yaml.org,2002:"
_NAMED = ("python/name:", "python/module:")
_APPLIED = ("python/object/apply:", "python/object/new:")
_MERGE = "<<"
# The tag to use for an unquoted scalar that has none.
_UNQUOTED = "?"
_LONGEST_KEY = 100


def parse_yaml(text: str) -> Any:
    """Return the first document of a YAML text as plain data. Raises ValueError.

    Keys are always text.
    """
    simple = _parse_simple(text)
    return _parse_any(text) if simple is None else simple


def resolve(text: str) -> Scalar:
    """Return the value of an unquoted scalar, such as True for `yes` and 0.001 for `1e-3`."""
    return _resolve(text) if len(text) <= _LONGEST_CACHED else text


@lru_cache(8192)
def _resolve(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else text


def _parse_simple(text: str) -> dict[str, Any] | None:
    """Return nested mappings of unquoted scalars; None if the text contains anything else."""
    lines = text.removesuffix("\n").split("\n")
    if max(map(len, lines)) > _LONGEST_CACHED:
        return None
    mapping: dict[str, Any] = {}
    document = mapping
    outer: list[tuple[int, dict[str, Any]]] = []
    width, last, has_value = 0, "", True
    for parsed in map(_parse_line, lines):
        if parsed is None:
            return None
        indent, key, value, is_given = parsed
        if indent != width:
            if indent > width:
                if has_value or len(outer) >= DEEPEST - 2:
                    return None
                outer.append((width, mapping))
                inner: dict[str, Any] = {}
                mapping[last] = mapping = inner
                width = indent
            while indent < width:
                width, mapping = outer.pop()
            if indent != width:
                return None
        mapping[key] = value
        last, has_value = key, is_given
    return document


@lru_cache(16384)
def _parse_line(line: str) -> tuple[int, str, Scalar, bool] | None:
    """Return the indentation, key and value of a line, and whether it has a value.

    Most lines are equal in many runs, so they are cached.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    indent, key, value = match.groups("")
    return len(indent), key, resolve(value), value != ""


def _parse_any(text: str) -> Any:
    """Return the first document of any YAML text, within the limits. Raises ValueError."""
    import yaml

    try:
        loader = _loader_class()(text)
        try:
            return _Converter().convert(loader.get_node()) if loader.check_node() else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise ValueError(_describe(error)) from None


@cache
def _loader_class() -> Any:
    """Return PyYAML's loader with limits, and without its rules for types."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Composes nodes. They are not constructed, so no tag has an effect.

        Without the limits, deep nesting exhausts the stack of the C library.
        """

        depth = count = 0

        def descend_resolver(self, *_: object) -> None:
            """Count a node before it is composed."""
            self.depth += 1
            self.count += 1
            _check_limits(self.count, self.depth)

        def ascend_resolver(self) -> None:
            """Leave a node."""
            self.depth -= 1

        def resolve(self, kind: object, value: object, implicit: Any) -> str:
            """Return the tag to use for a node that has none."""
            return _UNQUOTED if kind is yaml.ScalarNode and implicit[0] else ""

    return Loader


def _check_limits(count: int, depth: int) -> None:
    if count > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values")
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} levels deep")


class _Converter:
    """Converts nodes to plain data. An alias counts as often as it is used."""

    def __init__(self) -> None:
        self._count = 0

    def convert(self, node: yaml.Node, depth: int = 1) -> Any:
        """Return the plain form of a node. Raises ValueError beyond the limits."""
        self._count += 1
        _check_limits(self._count, depth)
        value, tag = node.value, node.tag.removeprefix(_STANDARD)
        if isinstance(value, str):
            return _convert_scalar(value, tag)
        if node.id == "sequence":
            return _convert_list([self.convert(item, depth + 1) for item in value], tag)
        mapping: dict[str, Any] = {}
        for key_node, value_node in value:
            key, item = self.convert(key_node, depth + 1), self.convert(value_node, depth + 1)
            if key_node.id == "scalar":
                key = key_node.value
            if key == _MERGE and isinstance(item, dict | list):
                _merge(mapping, item)
            else:
                mapping[str(key)[:_LONGEST_KEY]] = item
        return list(mapping) if tag == "set" else mapping


def _convert_scalar(value: str, tag: str) -> Scalar:
    if tag in (_UNQUOTED, "int", "float", "bool", "null"):
        return resolve(value)
    if tag == "binary":
        return None
    named = next((tag.removeprefix(start) for start in _NAMED if tag.startswith(start)), None)
    return value if named is None else named


def _convert_list(values: list[Any], tag: str) -> Any:
    """Return a list, or the plain form of a Python object whose arguments it contains."""
    applied = next((tag.removeprefix(start) for start in _APPLIED if tag.startswith(start)), None)
    if applied is None:
        return values
    if applied.endswith("Path"):
        return posixpath.join("", *map(str, values))
    if not applied.lower().endswith("dict"):
        return values[0] if len(values) == 1 else values
    pairs = values[0] if values and isinstance(values[0], list) else []
    return {str(pair[0]): pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2}


def _merge(mapping: dict[str, Any], value: Any) -> None:
    """Add the entries of `<<: *defaults`, or of a list of mappings, that are not there yet."""
    for other in value if isinstance(value, list) else [value]:
        if isinstance(other, dict):
            for key, item in other.items():
                mapping.setdefault(key, item)


def _describe(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "not YAML"
    return f"{problem}, line {mark.line + 1}" if mark is not None else str(problem)
