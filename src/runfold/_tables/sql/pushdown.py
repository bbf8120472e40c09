"""The data that a query needs: columns of each table, and runs and tags that pass its filters.

The parts are found in DuckDB's plans for the query over empty tables. The plan before optimization
names all columns of the query. In the optimized plan, each filter is part of the scan of its
table. Unknown filters pass everything: DuckDB applies all filters again, so an unnecessary row
only costs time, but a missing row would make the result wrong.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Parameters = Sequence[object] | Mapping[str, object] | None
Test = Callable[[str], bool]

_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "COMPARE_EQUAL": str.__eq__,
    "COMPARE_GREATERTHAN": str.__gt__,
    "COMPARE_GREATERTHANOREQUALTO": str.__ge__,
    "COMPARE_LESSTHAN": str.__lt__,
    "COMPARE_LESSTHANOREQUALTO": str.__le__,
}
_FUNCTIONS: dict[str, Callable[[str], Test]] = {
    "~~": lambda pattern: _like(pattern),
    "prefix": lambda text: lambda name: name.startswith(text),
    "starts_with": lambda text: lambda name: name.startswith(text),
    "suffix": lambda text: lambda name: name.endswith(text),
    "ends_with": lambda text: lambda name: name.endswith(text),
    "contains": lambda text: lambda name: text in name,
}


@dataclass(slots=True)
class Need:
    """The part of a table that a query needs; `columns` is None for all of them."""

    columns: set[str] | None = None
    # One entry per scan of the table: the tests for the text in each column.
    scans: list[dict[str, Test]] = field(default_factory=list)

    def has(self, column: str) -> bool:
        """Return whether the column is needed."""
        return self.columns is None or column in self.columns

    def keeps(self, column: str, text: str) -> bool:
        """Return whether a row with this text in the column may be needed."""
        return not self.scans or any(
            column not in scan or scan[column](text) for scan in self.scans
        )


def make_plans(connection: DuckDBPyConnection, query: str) -> tuple[Any, Any]:
    """Return DuckDB's plans for a query before and after optimization; empty if it has none.

    The connection's main schema must contain the tables, without rows. There is no plan for
    an invalid query or for PIVOT, or if DuckDB's plan is invalid JSON because its
    constants include NaN or a bit string.
    """
    call = "select json_serialize_plan($q), json_serialize_plan($q, optimize := true)"
    plans = connection.execute(call, {"q": query}).fetchone() or ("{}", "{}")
    try:
        bound, optimized = (json.loads(plan).get("plans", []) for plan in plans)
    except ValueError:
        return [], []
    return bound, optimized


def find_needs(bound: Any, optimized: Any, parameters: Parameters = None) -> dict[str, Need]:
    """Return what a query needs from each table in its plans."""
    scans = list(_scans(bound))
    needs: dict[str, Need] = {}
    for table, scan in scans:
        names = {scan["names"][index] for index in _columns(scan) if index < len(scan["names"])}
        need = needs.setdefault(table, Need(set()))
        need.columns = (need.columns or set()) | names
    values = _by_identifier(parameters)
    for table, scan in _scans(optimized):
        if table in needs:
            needs[table].scans.append(dict(_tests(scan, values)))
    for table, need in needs.items():
        # A missing scan can have moved to another part of the plan, with its own filter.
        if len(need.scans) < sum(name == table for name, _ in scans):
            need.scans = []
    return needs


def _scans(plan: Any) -> Iterator[tuple[str, Any]]:
    """Yield the table and node of each scan in a plan."""
    if isinstance(plan, list):
        for part in plan:
            yield from _scans(part)
    elif isinstance(plan, dict):
        if plan.get("type") == "LOGICAL_GET" and "table" in (plan.get("function_data") or ()):
            yield plan["function_data"]["table"], plan
        for value in plan.values():
            if isinstance(value, dict | list):
                yield from _scans(value)


def _columns(scan: Any) -> list[int]:
    return [column["index"] for column in scan["column_indexes"]]


def _tests(scan: Any, values: Mapping[str, object]) -> Iterator[tuple[str, Test]]:
    # Other versions of DuckDB can number the columns of filters differently.
    if not scan.get("table_filters_by_projection"):
        return
    columns = _columns(scan)
    for entry in scan["table_filters"]["filters"]:
        test = _test(entry["value"], values)
        if test is not None:
            yield scan["names"][columns[entry["key"]]], test


def _test(node: Any, values: Mapping[str, object]) -> Test | None:
    """Return a test that passes at least what a filter passes; None for an unknown filter."""
    kind = node.get("filter_type", "").removeprefix("LEGACY_")
    if kind == "OPTIONAL_FILTER":
        return _test(node["child_filter"], values)
    if kind == "EXPRESSION_FILTER":
        return _test(node["expr"], values)
    if kind == "CONSTANT_COMPARISON":
        return _compare(node["comparison_type"], _text(node["constant"]))
    if kind == "IN_FILTER":
        return _is_in([_text(value) for value in node["values"]])
    kind = kind or node.get("type", "")
    children = node.get("child_filters", node.get("children", []))
    if kind == "CONJUNCTION_AND":
        known = [test for test in (_test(child, values) for child in children) if test is not None]
        return lambda text: all(test(text) for test in known)
    if kind == "CONJUNCTION_OR":
        tests = [_test(child, values) for child in children]
        return None if None in tests else lambda text: any(test(text) for test in tests if test)
    if not children or children[0].get("type") != "BOUND_REF":
        return None
    operands = [_operand(child, values) for child in children[1:]]
    if kind == "COMPARE_IN":
        return _is_in(operands)
    if len(operands) != 1:
        return None
    if kind in _COMPARISONS:
        return _compare(kind, operands[0])
    name = (node.get("qname", {}).get("path") or [""])[-1]
    if name in _FUNCTIONS and operands[0] is not None:
        return _FUNCTIONS[name](operands[0])
    return None


def _compare(kind: str, operand: str | None) -> Test | None:
    if kind not in _COMPARISONS or operand is None:
        return None
    compare = _COMPARISONS[kind]
    return lambda text: compare(text, operand)


def _is_in(texts: Sequence[str | None]) -> Test | None:
    return None if None in texts else set(texts).__contains__


def _operand(node: Any, values: Mapping[str, object]) -> str | None:
    """Return the text of a constant or a parameter; None for anything else."""
    if node.get("type") == "VALUE_CONSTANT":
        return _text(node["value"])
    if node.get("type") == "VALUE_PARAMETER":
        value = values.get(node.get("identifier", ""))
        return value if isinstance(value, str) else None
    return None


def _text(constant: Any) -> str | None:
    value = constant.get("value")
    return value if isinstance(value, str) and not constant.get("is_null") else None


def _like(pattern: str) -> Test:
    # Convert to a glob, because its regular expression never backtracks. A direct
    # translation of '%a%a%a%a%a%b' would block Python and all its threads.
    parts = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    glob = "".join(parts.get(character, character) for character in pattern)
    matches = re.compile(fnmatch.translate(glob)).match
    return lambda text: matches(text) is not None


def _by_identifier(parameters: Parameters) -> Mapping[str, object]:
    if isinstance(parameters, Mapping):
        return parameters
    return {str(number): value for number, value in enumerate(parameters or (), 1)}
