"""The output of `runfold show` for each kind."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._cli.render import DETAILS, format_time, pairs, view_lines
from runfold._cli.terminal import (
    Column,
    can_show,
    format_table,
    note,
    plot_width,
    print_json,
    print_json_list,
    show_tag,
)
from runfold._events.kinds import KINDS, SCALAR
from runfold._humanize import escape, human_count
from runfold._plot.terminal_drawings import draw_curve

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series
    from runfold._tables.frames.value_rows import Row

TEXTS = 10
_ENDS = 5
# Points converted to Python objects at a time.
_BLOCK = 65_536


def show_scalar(
    series: Series, mask: NDArray[np.bool_] | None, options: argparse.Namespace
) -> None:
    """Print a curve and the first and last values, or all values as CSV or JSON."""
    chosen = slice(None) if mask is None else mask
    steps, values = series.steps[chosen], series.values[chosen]
    columns = steps, series.wall_times[chosen], values
    if options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["step", "wall_time", "value"])
        writer.writerows(_each_point(columns))
        return
    if options.json:
        names = ("step", "wall_time", "value")
        _print_values(series.run, series.tag, SCALAR, series.hidden, names, _each_point(columns))
        return
    _print_heading(series.tag, series.run, SCALAR, series.steps, series.hidden)
    if mask is None and len(series) > 1:
        _print_curve(steps, values)
    _print_points(columns, options.all)


def _each_point(columns: Sequence[NDArray[Any]]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(columns[0]), _BLOCK):
        yield from zip(
            *(column[start : start + _BLOCK].tolist() for column in columns), strict=True
        )


def _print_curve(steps: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    has_braille = can_show("⣿│└─")
    lines = draw_curve(steps, values, plot_width(), has_braille=has_braille)
    if lines:
        print("\n" + "\n".join(lines) + "\n")
    unplotted = len(values) - int(np.isfinite(values).sum())
    if unplotted:
        verb = "is" if unplotted == 1 else "are"
        note(f"{human_count(unplotted, 'value')} {verb} NaN or infinite and not drawn.")


def _print_points(points: Sequence[NDArray[Any]], show_all: bool) -> None:
    left_out = len(points[0]) - 2 * _ENDS
    is_complete = show_all or left_out <= 1
    if not is_complete:
        points = [np.concatenate([column[:_ENDS], column[-_ENDS:]]) for column in points]
    columns = [
        Column("step", is_number=True),
        Column("value", is_number=True),
        Column("time"),
    ]
    lines = format_table(
        columns,
        [
            [str(step), f"{value:.6g}", format_time(time)]
            for step, time, value in _each_point(points)
        ],
    )
    if not is_complete:
        lines.insert(1 + _ENDS, f"... {human_count(left_out)} more; --all lists them ...")
    print("\n".join(lines))


def show_rows(
    log: RunLog, payloads: Payloads, rows: list[Row[Any]], options: argparse.Namespace
) -> None:
    """Print decoded values of any kind except scalars."""
    kind = payloads.kind
    if options.json:
        # Decoded before anything is printed, because a value can be broken.
        entries = [(row.step, row.wall_time, _details(kind, row.value)) for row in rows]
        _print_values(
            log.name, payloads.tag, kind, payloads.hidden, ("step", "wall_time", "value"), entries
        )
    else:
        _print_heading(payloads.tag, log.name, kind, payloads.steps, payloads.hidden)
        for row in rows:
            if KINDS[kind].has_tags:
                print(f"\nstep {row.step}, {format_time(row.wall_time)}")
            print("\n".join(view_lines(kind, row.value)))
        _print_left_out(payloads, rows)
    for problem in log.late_problems:
        note(str(problem.in_run(log.name)))


def _print_left_out(payloads: Payloads, rows: list[Row[Any]]) -> None:
    shown = {row.step for row in rows}
    others = len(set(payloads.steps.tolist()) - shown)
    if rows and others and payloads.kind != "mesh":
        note(f"\n{human_count(others, 'more step')}; --step N shows one, --all shows all.")


def show_embeddings(log: RunLog, tag: str, options: argparse.Namespace) -> None:
    """Print an embedding's entry in the projector configuration."""
    from runfold._tables.frames.decoded_values import embeddings_of

    for embedding in embeddings_of(log):
        if embedding.name != tag:
            continue
        names = ("tensor_path", "tensor_shape", "metadata_path", "sprite_path")
        details = {name: getattr(embedding, name) for name in names}
        try:
            details["shape"] = list(embedding.tensor().shape)
        except ValueError as error:
            details["problem"] = str(error)
        if options.json:
            print_json({"run": log.name, "tag": tag, "kind": "embedding", **details})
        else:
            print(f"{escape(tag)} in run {escape(log.name)}: embedding")
            print("\n".join(pairs(details)))


def _print_values(
    run: str,
    tag: str,
    kind: str,
    hidden: int,
    names: tuple[str, ...],
    entries: Iterable[tuple[Any, ...]],
) -> None:
    values = (dict(zip(names, entry, strict=True)) for entry in entries)
    print_json_list({"run": run, "tag": tag, "kind": kind, "hidden": hidden}, "values", values)


def _print_heading(tag: str, run: str, kind: str, steps: NDArray[np.int64], hidden: int) -> None:
    noun = "point" if kind == SCALAR else "value"
    parts = [f"{kind}, {human_count(len(steps), noun)}"]
    if len(steps):
        low, high = int(steps.min()), int(steps.max())
        parts.append(f"step {low}" if low == high else f"steps {low}..{high}")
    if hidden:
        parts.append(f"{human_count(hidden)} hidden by a restart")
    name = tag if tag or kind != "graph" else kind
    print(f"{show_tag(name)} in run {escape(run)}: {', '.join(parts)}")


def _details(kind: str, value: Any) -> Any:
    return DETAILS[kind](value) if kind in DETAILS else value
