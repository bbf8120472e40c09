"""`Comparison`, the result of `runs.compare`: scores, groups and pairs, and a verdict."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from runfold._compare.pairs import Pair, Summary
from runfold._compare.scores import At, Score, name_group
from runfold._compare.task_scores import Overall, OverallPair
from runfold._compare.verdict import name_level, number, percent, show_p, show_span
from runfold._humanize import did_you_mean, escape
from runfold._tables.by_run.direction import Direction
from runfold._tables.by_run.listing import align_rows, html_table
from runfold.errors import UnknownStatistic

if TYPE_CHECKING:
    from runfold._tables.frames.frame import Table

# The tables of a comparison: attribute name and class of the rows.
ROWS = {
    "groups": Summary,
    "pairs": Pair,
    "scores": Score,
    "overall": Overall,
    "overall_pairs": OverallPair,
}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """A comparison of groups of runs. Printing it shows its tables and the verdict.

    Attributes:
        at: the score of a run: "last", ..., or a step.
        level: confidence level of all intervals and of the verdict.
        directions: whether higher or lower is better, for each tag.
        scores: one row per run and tag.
        groups: one row per group and tag.
        pairs: one row per tag and pair of groups; `a` is the group with the better mean.
        overall: one row per group, over all tags; empty for one tag.
        overall_pairs: one row per pair of groups, over all tags; empty for one tag.
        sentence: the verdict in words, one line per tag and one for all tags together.
        correction: how the intervals and p-values are corrected for multiple
            comparisons; empty if at most one pair was tested.
        warnings: caveats, as sentences.
        left_out: the data that was left out, and why.

    Examples:
        >>> comparison = runs.compare("val/loss", by="lr")
        >>> print(comparison)
        group    n   mean     std          95% CI  median    iqm
        lr=0.01  3  0.921   0.012  0.891 to 0.951   0.927  0.921
        lr=0.1   3  0.407  0.0117  0.378 to 0.436   0.409  0.407
        ...
        lr=0.1 is better than lr=0.01 on val/loss (last value, lower is better, ...
        >>> comparison.pairs[0].p_welch
        7.5e-07
    """

    at: At
    level: float
    directions: tuple[Direction, ...]
    scores: tuple[Score, ...]
    groups: tuple[Summary, ...]
    pairs: tuple[Pair, ...]
    overall: tuple[Overall, ...]
    overall_pairs: tuple[OverallPair, ...]
    sentence: str
    correction: str
    warnings: tuple[str, ...]
    left_out: tuple[str, ...]

    def columns(self, table: str = "groups") -> dict[str, list[Any]]:
        """Return a table as one list per column.

        Args:
            table: "groups", "pairs", "scores", "overall" or "overall_pairs".
        """
        if table not in ROWS:
            hint = did_you_mean(str(table), ROWS) or f"Available: {', '.join(ROWS)}."
            raise UnknownStatistic(f"A comparison has no table '{escape(str(table))}'. {hint}")
        names = [field.name for field in fields(ROWS[table])]
        return {name: [getattr(row, name) for row in getattr(self, table)] for name in names}

    def frame(self, table: str = "groups") -> Table:
        """Return a table as a DataFrame; see `columns` for the names."""
        from runfold._tables.frames.frame import Table

        return Table(self.columns(table))

    def show_tables(self) -> list[list[list[str]]]:
        """Return the tables that have rows, as lists of cells with the header row first."""
        tables = [_group_rows(self), _pair_rows(self), _overall_rows(self), _overall_pairs(self)]
        return [rows for rows in tables if len(rows) > 1]

    def __str__(self) -> str:
        parts = [align_rows(rows) for rows in self.show_tables()]
        parts += filter(None, [self.correction, self.sentence])
        if self.remarks:
            parts.append("\n".join(self.remarks))
        return "\n\n".join(parts)

    @property
    def remarks(self) -> list[str]:
        """The warnings and the data that was left out, each with a prefix."""
        warnings = [f"Warning: {warning}" for warning in self.warnings]
        return [*warnings, *(f"Left out: {sentence}." for sentence in self.left_out)]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = "".join(html_table("", rows) for rows in self.show_tables())
        lines = [self.correction, *self.sentence.split("\n"), *self.remarks]
        return tables + "".join(f"<p>{html.escape(line)}</p>" for line in lines if line)


def _group_rows(comparison: Comparison) -> list[list[str]]:
    heads = ["group", "n", "mean", "std", name_level(comparison.level), "median", "iqm"]
    return [
        _with_tag(comparison, "tag", heads),
        *(
            _with_tag(
                comparison,
                row.tag,
                [
                    name_group(row.group),
                    str(row.n),
                    number(row.mean),
                    number(row.std),
                    show_span(row.low, row.high),
                    number(row.median),
                    number(row.iqm),
                ],
            )
            for row in comparison.groups
        ),
    ]


def _pair_rows(comparison: Comparison) -> list[list[str]]:
    """Return one row per pair, with corrected intervals and p-values."""
    level = name_level(comparison.level)
    heads = ["a", "b", "a - b", level, "p Welch", "p M-W", "p perm", "g", _beats(comparison)]
    return [
        _with_tag(comparison, "tag", heads),
        *(
            _with_tag(
                comparison,
                row.tag,
                [
                    name_group(row.a),
                    name_group(row.b),
                    number(row.difference),
                    show_span(row.low_holm, row.high_holm),
                    show_p(row.p_welch_holm),
                    show_p(row.p_mann_whitney_holm),
                    show_p(row.p_permutation_holm),
                    number(row.hedges_g),
                    percent(row.improvement),
                ],
            )
            for row in comparison.pairs
        ),
    ]


def _overall_rows(comparison: Comparison) -> list[list[str]]:
    heads = ["over all tags", "tags", "n", "iqm", name_level(comparison.level)]
    return [
        heads,
        *(
            [
                name_group(row.group),
                str(row.tasks),
                str(row.n),
                number(row.iqm),
                show_span(row.low, row.high),
            ]
            for row in comparison.overall
            if not math.isnan(row.iqm)
        ),
    ]


def _overall_pairs(comparison: Comparison) -> list[list[str]]:
    level = name_level(comparison.level)
    return [
        ["a", "b", "tags", "iqm a - b", level, _beats(comparison), level],
        *(
            [
                name_group(row.a),
                name_group(row.b),
                str(row.tasks),
                number(row.difference),
                show_span(row.low, row.high),
                percent(row.improvement),
                show_span(row.improvement_low, row.improvement_high, percent),
            ]
            for row in comparison.overall_pairs
        ),
    ]


def _beats(comparison: Comparison) -> str:
    has_better = any(direction.better for direction in comparison.directions)
    return "a beats b" if has_better else "a above b"


def _with_tag(comparison: Comparison, tag: str, cells: list[str]) -> list[str]:
    """Return the cells of a row, preceded by its tag if there are several tags."""
    return [escape(tag), *cells] if len(comparison.directions) > 1 else cells
