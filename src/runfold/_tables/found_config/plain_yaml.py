"""Parses YAML as plain data: dicts, lists, text, numbers, booleans and None.

Tags never run code: `!!python/tuple` becomes a list, `!!python/object:argparse.Namespace` a dict,
`!!python/name:torch.nn.ReLU` the text `torch.nn.ReLU`, and a NumPy number a number. Each use of an
alias counts toward the limit, so a file with nested aliases ("billion laughs") reaches the limit
before it fills the memory.
"""

from __future__ import annotations

import base64
import posixpath
import struct
from functools import cache
from typing import TYPE_CHECKING, Any

from runfold._tables.found_config.simple_yaml import DEEPEST, parse_simple, resolve

if TYPE_CHECKING:
    import yaml  # type: ignore[import-untyped]

    from runfold._tables.found_config.simple_yaml import Scalar

MOST_VALUES = 50_000
_STANDARD = "tag:yaml.org,2002:"
_NAMED = ("python/name:", "python/module:")
_APPLIED = ("python/object/apply:", "python/object/new:")
_NUMPY_SCALAR = "multiarray.scalar"
# NumPy types, and the corresponding `struct` formats.
_NUMPY_TYPES = {
    **{"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q"},
    **{"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f2": "e", "f4": "f", "f8": "d"},
}
_MERGE = "<<"
# The tag to use for an unquoted scalar that has none.
_UNQUOTED = "?"
_LONGEST_KEY = 100


def parse_yaml(text: str) -> Any:
    """Return the first document in a YAML string as plain data. Raises ValueError.

    Keys are always text.
    """
    simple = parse_simple(text)
    return _parse_any(text) if simple is None else simple


def _parse_any(text: str) -> Any:
    """Return the first document in any YAML string, within the limits. Raises ValueError."""
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
    """Converts nodes to plain data. Each use of an alias counts toward the limit."""

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
            if tag.endswith(_NUMPY_SCALAR) and len(value) == 2:
                return _convert_number(self.convert(value[0], depth + 1), value[1].value)
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


def _convert_number(kind: Any, data: Any) -> Scalar:
    """Return a NumPy scalar, which Lightning saves with its type and its bytes in Base64.

    Returns None for all types except numbers and booleans.
    """
    try:
        form = _NUMPY_TYPES[kind["args"][0]]
        number: Scalar = struct.unpack(f"<{form}", base64.b64decode(data))[0]
    except (LookupError, TypeError, ValueError, struct.error):
        return None
    return number


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
    """Add the entries of `<<: *defaults`, or of a list of mappings, that do not exist yet."""
    for other in value if isinstance(value, list) else [value]:
        if isinstance(other, dict):
            for key, item in other.items():
                mapping.setdefault(key, item)


def _describe(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "not YAML"
    return f"{problem}, line {mark.line + 1}" if mark is not None else str(problem)
