"""The runs that match a condition.

A comparison with a missing value is false, including `!=`, unless the other operand is
None. A comparison of different types is false, except `!=`: text is not a number, and True
is not 1. Arithmetic that has no result, or whose operands are not numbers, gives a missing value.
"""

from __future__ import annotations

import operator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import did_you_mean, escape, human_list
from runfold._select import match_glob
from runfold._tables.by_run import expression
from runfold._tables.by_run.column_statistics import STATISTICS
from runfold._tables.by_run.expression import Chain, Lookup, Name, Prefix, Several, refuse
from runfold._tables.by_run.overview import Overview
from runfold._tables.by_run.row_values import Cells, Constant, Mask, Numbers, compare_rows, kind_of
from runfold._tables.by_run.run_columns import Column
from runfold._tables.by_run.run_filters import failed_runs
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runfold._tables.by_run.expression import Node

    # A function from a row to its value.
    Values = Callable[[int], Any]

LOOKUPS = (*STATISTICS, "at", "has", "hparam", "text")
NAMES = ("run", "name", "status", "failed", "start", "duration", "steps", "points")

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def parse_condition(text: str) -> Node:
    """Parse a condition into a tree without reading any run. Raises BadExpression."""
    return expression.parse(text, LOOKUPS)


def choose_rows(overview: Overview, text: str, tree: Node) -> list[int]:
    """Return the rows that match a condition. Raises BadExpression for an unknown name."""
    matches = _Condition(text, overview).compile(tree)
    if isinstance(matches, Mask):
        found: list[int] = np.flatnonzero(matches.rows).tolist()
        return found
    return [row for row in range(len(overview)) if matches(row)]


class _Condition:
    """Compiles trees into functions of a row."""

    def __init__(self, text: str, overview: Overview) -> None:
        self._text = text
        self._overview = overview

    def compile(self, node: Node) -> Values:
        if isinstance(node, expression.Literal):
            return Constant(node.value)
        if isinstance(node, Name):
            return self._column(self._named(node), node.at)
        if isinstance(node, Lookup):
            return self._lookup(node)
        if isinstance(node, Several):
            items = [self.compile(item) for item in node.items]
            return lambda row: [item(row) for item in items]
        if isinstance(node, Prefix):
            return self._prefix(node)
        return self._chain(node)

    def _named(self, node: Name) -> Column:
        if not node.is_quoted and node.name in NAMES:
            return Column("run" if node.name == "name" else node.name)
        if node.name not in self._overview.known.hparams:
            self._refuse_unknown_hparam(node)
        return Column("hparam", node.name)

    def _refuse_unknown_hparam(self, node: Name) -> None:
        """Raise BadExpression if no run in the logdir has the hparam, unless there are no runs."""
        whole = self._overview.whole
        known = whole.known
        if node.name not in known.hparams and len(whole):
            names = [*known.hparams, *(() if node.is_quoted else NAMES)]
            hint = did_you_mean(node.name, names) or f"Available: {human_list(names)}."
            if constant := expression.CONSTANT_HINTS.get(node.name.lower()):
                hint = f"Write {constant}."
            if node.name in known.scalars:
                hint = f"For the last value of the tag, write last['{escape(node.name)}']."
            refuse(self._text, node.at, f"No run has an hparam '{escape(node.name)}'. {hint}")

    def _lookup(self, node: Lookup) -> Values:
        if not _has_name(self._overview, node):
            self._refuse_unknown_tag(node)
        if node.word == "has":
            rows = self._overview.rows_with(node.name)
            return rows.__contains__
        return self._column(Column(node.word, node.name, node.step), node.at)

    def _refuse_unknown_tag(self, node: Lookup) -> None:
        """Raise BadExpression if no run in the logdir has the tag, unless there are no runs."""
        whole = self._overview.whole
        if not _has_name(whole, node) and len(whole):
            nouns = {"has": "a tag", "hparam": "an hparam", "text": "a tag"}
            noun = nouns.get(node.word, "a scalar tag")
            hint = did_you_mean(node.name, _names_for(whole, node))
            fact = f"No run has {noun} '{escape(node.name)}'."
            refuse(self._text, node.at, f"{fact} {hint}".rstrip())

    def _column(self, column: Column, at: int) -> Values:
        overview = self._overview
        if not len(overview):
            return lambda row: None
        if column.what == "failed":
            return set(failed_runs(overview)).__contains__
        if column.what not in (*STATISTICS, "at"):
            if column.what == "steps":
                return Numbers(overview.last_steps, len(overview))
            cells = overview.cells(column)
            if isinstance(cells, list):
                return Cells(cells)
            known = np.flatnonzero(~np.isnan(cells))
            return Numbers((known, cells[known]), len(overview))
        try:
            found = overview.find_values(column)
        except CannotFold as error:
            refuse(self._text, at, str(error))
        return Numbers(found, len(overview))

    def _prefix(self, node: Prefix) -> Values:
        operand = self.compile(node.operand)
        if node.operator == "not":
            if isinstance(operand, Mask):
                return Mask(~operand.rows)
            return lambda row: not operand(row)
        sign = -1 if node.operator == "-" else 1
        return lambda row: _calculate("*", sign, operand(row))

    def _chain(self, node: Chain) -> Values:
        if node.rank == "compare":
            return self._comparison(node)
        operands = [self.compile(operand) for operand in node.operands]
        if node.rank == "and":
            return _all(operands)
        if node.rank == "or":
            masks = [operand.rows for operand in operands if isinstance(operand, Mask)]
            if len(masks) == len(operands):
                return Mask(np.logical_or.reduce(masks))
            return lambda row: any(operand(row) for operand in operands)
        first, *rest = operands

        def calculate(row: int) -> Any:
            value = first(row)
            for sign, operand in zip(node.operators, rest, strict=True):
                value = _calculate(sign, value, operand(row))
            return value

        return calculate

    def _refuse_text(self, name: Node, other: Node) -> None:
        """Raise BadExpression if a number is compared with text that hides a tag's name.

        A configuration file can contain `loss: mse`, and `loss < 0.5` means the tag.
        """
        is_number = not isinstance(other, expression.Literal) or kind_of(other.value) is float
        if not (is_number and isinstance(name, Name)) or (
            name.name in NAMES and not name.is_quoted
        ):
            return
        whole = self._overview.whole
        if name.name in whole.known.hparams and name.name in whole.known.scalars:
            values = whole.cells(Column("hparam", name.name))
            if not any(kind_of(value) is float for value in values):
                shown = escape(name.name)
                refuse(
                    self._text,
                    name.at,
                    f"The hparam '{shown}' is not a number in any run. For the last value of the"
                    f" tag, write last['{shown}'].",
                )

    def _comparison(self, node: Chain) -> Values:
        for left, sign, right in zip(
            node.operands, node.operators, node.operands[1:], strict=False
        ):
            if sign in ("<", "<=", ">", ">="):
                self._refuse_text(left, right)
                self._refuse_text(right, left)
        operands = [self.compile(self._as_time(node, operand)) for operand in node.operands]
        return _all(
            [
                compare_rows(
                    operands[number], sign, operands[number + 1], _is_none(node.operands, number)
                )
                for number, sign in enumerate(node.operators)
            ]
        )

    def _as_time(self, node: Chain, operand: Node) -> Node:
        """Convert text that is compared with `start` from local time to seconds."""
        has_start = any(
            isinstance(other, Name) and other.name == "start" and not other.is_quoted
            for other in node.operands
        )
        if not (has_start and isinstance(operand, expression.Literal)):
            return operand
        if not isinstance(operand.value, str):
            return operand
        try:
            seconds = datetime.fromisoformat(operand.value).timestamp()
        except (ValueError, OverflowError, OSError):
            hint = "Use a format such as '2026-01-31' or '2026-01-31 12:00'."
            refuse(self._text, operand.at, f"'{escape(operand.value)}' is not a time. {hint}")
        return expression.Literal(operand.at, seconds)


def _all(operands: list[Values]) -> Values:
    """Return whether all operands are true, as a Mask if they all are."""
    masks = [operand.rows for operand in operands if isinstance(operand, Mask)]
    if len(masks) == len(operands):
        return Mask(np.logical_and.reduce(masks))
    return lambda row: all(operand(row) for operand in operands)


def _names_for(overview: Overview, node: Lookup) -> Sequence[str]:
    """Return the tags or hparams that a lookup can name."""
    if node.word == "has":
        return overview.tags
    known = {"hparam": overview.known.hparams, "text": overview.known.texts}
    return known.get(node.word, overview.known.scalars)


def _has_name(overview: Overview, node: Lookup) -> bool:
    names = _names_for(overview, node)
    return node.name in names or (node.word == "has" and bool(match_glob(names, node.name)))


def _is_none(operands: Sequence[Node], number: int) -> bool:
    return any(
        isinstance(operand, expression.Literal) and operand.value is None
        for operand in operands[number : number + 2]
    )


def _calculate(sign: str, left: Any, right: Any) -> Any:
    if kind_of(left) is not float or kind_of(right) is not float:
        return None
    try:
        # Calculate with floats, because a power of integers can exhaust memory.
        result = _ARITHMETIC[sign](float(left), float(right))
    except (ArithmeticError, ValueError):
        return None
    return None if isinstance(result, complex) else result
