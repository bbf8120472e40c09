"""What a query needs: the columns of each table, and the runs and tags that its filters let by.

DuckDB says it itself. The query is planned over tables without rows; the plan
before optimisation names every column that it speaks of, and in the plan after
it each filter stands at the table that it concerns. A filter that is not
understood here lets everything by: DuckDB applies all of them again to the rows
that it is given, so a needless row costs time and a missing one would be wrong.
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
    # For each place where the query scans the table: what a column's text must be like.
    scans: list[dict[str, Test]] = field(default_factory=list)

    def has(self, column: str) -> bool:
        """Whether the column is needed."""
        return self.columns is None or column in self.columns

    def keeps(self, column: str, text: str) -> bool:
        """Whether a row with that text in the column may be needed."""
        return not self.scans or any(
            column not in scan or scan[column](text) for scan in self.scans
        )


def make_plans(connection: DuckDBPyConnection, query: str) -> tuple[Any, Any]:
    """DuckDB's plans of a query, before and after optimisation; empty where it has none.

    The tables must be there, without rows, in the connection's main schema. There
    is no plan for a query that is wrong, nor for PIVOT, nor where DuckDB spells
    it as what is no JSON: with a NaN or a bit string among its constants.
    """
    call = "select json_serialize_plan($q), json_serialize_plan($q, optimize := true)"
    answer = connection.execute(call, {"q": query}).fetchone() or ("{}", "{}")
    try:
        bound, optimised = (json.loads(said).get("plans", []) for said in answer)
    except ValueError:
        return [], []
    return bound, optimised


def find_needs(bound: Any, optimised: Any, parameters: Parameters = None) -> dict[str, Need]:
    """What a query needs, by its plans, of each table that it names; of others, anything."""
    scans = list(_scans(bound))
    found: dict[str, Need] = {}
    for table, scan in scans:
        names = {scan["names"][one] for one in _columns(scan) if one < len(scan["names"])}
        need = found.setdefault(table, Need(set()))
        need.columns = (need.columns or set()) | names
    values = _by_identifier(parameters)
    for table, scan in _scans(optimised):
        if table in found:
            found[table].scans.append(dict(_tests(scan, values)))
    for table, need in found.items():
        # A scan that is gone may stand in another place of the plan, with its own filter.
        if len(need.scans) < sum(one == table for one, _ in scans):
            need.scans = []
    return found


def _scans(plan: Any) -> Iterator[tuple[str, Any]]:
    """Every place in a plan, and in what is nested in it, where a table is scanned."""
    if isinstance(plan, list):
        for one in plan:
            yield from _scans(one)
    elif isinstance(plan, dict):
        if plan.get("type") == "LOGICAL_GET" and "table" in (plan.get("function_data") or ()):
            yield plan["function_data"]["table"], plan
        for value in plan.values():
            if isinstance(value, dict | list):
                yield from _scans(value)


def _columns(scan: Any) -> list[int]:
    return [one["index"] for one in scan["column_indexes"]]


def _tests(scan: Any, values: Mapping[str, object]) -> Iterator[tuple[str, Test]]:
    # Another version of DuckDB may count the columns of filters otherwise.
    if not scan.get("table_filters_by_projection"):
        return
    columns = _columns(scan)
    for entry in scan["table_filters"]["filters"]:
        test = _test(entry["value"], values)
        if test is not None:
            yield scan["names"][columns[entry["key"]]], test


def _test(node: Any, values: Mapping[str, object]) -> Test | None:
    """What a filter of one column lets by, or more than that; None where it is not understood."""
    kind = node.get("filter_type", "").removeprefix("LEGACY_")
    if kind == "OPTIONAL_FILTER":
        return _test(node["child_filter"], values)
    if kind == "EXPRESSION_FILTER":
        return _test(node["expr"], values)
    if kind == "CONSTANT_COMPARISON":
        return _compare(node["comparison_type"], _text(node["constant"]))
    if kind == "IN_FILTER":
        return _is_in([_text(one) for one in node["values"]])
    kind = kind or node.get("type", "")
    children = node.get("child_filters", node.get("children", []))
    if kind == "CONJUNCTION_AND":
        known = [test for test in (_test(one, values) for one in children) if test is not None]
        return lambda text: all(test(text) for test in known)
    if kind == "CONJUNCTION_OR":
        tests = [_test(one, values) for one in children]
        return None if None in tests else lambda text: any(one(text) for one in tests if one)
    if not children or children[0].get("type") != "BOUND_REF":
        return None
    operands = [_operand(one, values) for one in children[1:]]
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
    """The text of a constant or a parameter; None for all else."""
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
    # By a glob, whose regular expression never goes back: that of '%a%a%a%a%a%b' as it
    # stands would keep Python, and all its threads, for ever.
    parts = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    matches = re.compile(fnmatch.translate("".join(parts.get(one, one) for one in pattern))).match
    return lambda text: matches(text) is not None


def _by_identifier(parameters: Parameters) -> Mapping[str, object]:
    if isinstance(parameters, Mapping):
        return parameters
    return {str(number): value for number, value in enumerate(parameters or (), 1)}
