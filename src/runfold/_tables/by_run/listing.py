"""One line per run for `runfold ls` and for the `repr` of runs."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._events.kinds import KINDS, SCALAR, UNKNOWN
from runfold._humanize import escape, human_bytes, human_count, human_duration, human_span
from runfold._labels import label_names
from runfold._storage.url import show_url
from runfold._tables.by_run.run_columns import MOST_TAGS
from runfold._tables.frames.unknown_plugins import (
    PluginLine,
    describe_plugins,
    list_plugins,
    name_kind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from runfold._logdir.loader import Logdir
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series


@dataclass(frozen=True, slots=True)
class TagLine:
    """One tag of a run, with its plugin and size if it belongs to an unknown plugin."""

    tag: str
    kind: str
    points: int
    first_step: int
    last_step: int
    hidden: int
    plugin: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run: its size, steps, duration, tags and number of problems.

    `kinds` counts all tags of each kind, while `tags` can be limited to the first ones.
    """

    run: str
    path: str
    files: int
    size: int
    start: float
    duration: float
    points: int
    hidden: int
    steps: tuple[int, int] | None
    kinds: dict[str, int]
    tags: list[TagLine]
    plugins: list[PluginLine]
    projector_config: str | None
    problems: int

    @property
    def unknown(self) -> list[PluginLine]:
        """The tags whose values only their plugin can read."""
        return [line for line in self.plugins if line.kind == UNKNOWN]

    @property
    def left_out(self) -> int:
        """The number of tags that are neither in `tags` nor in `unknown`."""
        return sum(self.kinds.values()) - len(self.tags) - len(self.unknown)


def list_run(log: RunLog, most: int | None = MOST_TAGS) -> RunLine:
    """Load a run and return its line, with at most `most` of its tags."""
    tags: list[TagLine] = []
    kinds = dict.fromkeys(KINDS, 0)
    points = hidden = 0
    first, last = math.inf, -math.inf
    plugins = list_plugins(log)
    foreign = {(line.kind, line.tag): (line.plugin, line.size) for line in plugins}
    for kind, tag, entry in _entries(log):
        kinds[kind] += 1
        count = len(entry)
        points += count
        hidden += entry.hidden
        low, high = _step_range(entry.steps)
        if count:
            first, last = min(first, low), max(last, high)
        if most is None or len(tags) < most:
            plugin = foreign.get((kind, tag), ())
            tags.append(TagLine(tag, kind, count, low, high, entry.hidden, *plugin))
    kinds[UNKNOWN] = sum(line.kind == UNKNOWN for line in plugins)
    start, end = log.wall_time_range
    return RunLine(
        run=log.name,
        path=log.path,
        files=len(log.all_files),
        size=log.size,
        start=start,
        duration=end - start if not math.isnan(start) else math.nan,
        points=points,
        hidden=hidden,
        steps=(int(first), int(last)) if first <= last else None,
        kinds={kind: count for kind, count in kinds.items() if count},
        tags=tags,
        plugins=plugins,
        projector_config=log.config,
        problems=len(log.list_problems()),
    )


def _step_range(steps: NDArray[np.int64]) -> tuple[int, int]:
    """Return the lowest and highest step; 0 if there are no steps."""
    if len(steps) < 2:  # a shortcut, because a million tags can have one point each
        only = int(steps[0]) if len(steps) else 0
        return only, only
    return int(steps.min()), int(steps.max())


def _entries(log: RunLog) -> Iterator[tuple[str, str, Series | Payloads]]:
    """Yield the kind, the tag and the values of each tag of a run."""
    for tag, series in log.scalars.items():
        yield SCALAR, tag, series
    for (kind, tag), payloads in log.payloads.items():
        yield kind, tag, payloads


def describe_runs(logdir: Logdir, names: Sequence[str]) -> str:
    """Return a table of the first runs for the terminal; only those shown are read."""
    count = len(names)
    paths = ", ".join(show_url(str(path)) for path in logdir.paths)
    head = f"{_count_runs(logdir, names)} in {paths}"
    if not count:
        return head
    table = align_rows(_run_rows(logdir, names))
    more = f"\n... and {count - _SHOWN} more" if count > _SHOWN else ""
    return f"{head}\n{table}{more}"


def runs_html(logdir: Logdir, names: Sequence[str]) -> str:
    """Return the table of `describe_runs` as HTML for a notebook."""
    more = f" (the first {_SHOWN} are shown)" if len(names) > _SHOWN else ""
    caption = f"<caption>{_count_runs(logdir, names)}{more}</caption>"
    return html_table(caption, _run_rows(logdir, names))


def _count_runs(logdir: Logdir, names: Sequence[str]) -> str:
    count, total = len(names), len(logdir.logs)
    runs = human_count(count, "run")
    return runs if count == total else f"{runs} of {human_count(total)}"


def describe_run(log: RunLog) -> str:
    """Return a table of a run's tags for the terminal."""
    line = list_run(log)
    head = f"Run {escape(line.run)}: {human_count(line.points, 'point')}"
    last = "".join(f"\n{sentence}" for sentence in describe_plugins(line.plugins))
    if not line.tags:
        return head + last
    table = align_rows(_tag_rows(line.tags))
    count = sum(line.kinds.values()) - len(line.unknown)
    more = f"\n... and {count - _SHOWN} more" if count > _SHOWN else ""
    return f"{head}\n{table}{more}{last}"


def tags_html(log: RunLog) -> str:
    """Return a table of a run's tags as HTML for a notebook."""
    line = list_run(log)
    count = sum(line.kinds.values())
    more = f" (the first {_SHOWN} of {count:,} tags are shown)" if count > _SHOWN else ""
    caption = f"<caption>Run {html.escape(escape(log.name))}{more}</caption>"
    return html_table(caption, _tag_rows(line.tags))


_SHOWN = 20
_WIDEST_NAME = 60


def _run_rows(logdir: Logdir, names: Sequence[str]) -> list[list[str]]:
    """Load the first runs and return their rows, after the headings."""
    logs = [logdir.logs[name] for name in names[:_SHOWN]]
    logdir.load(logs)
    lines = [list_run(log) for log in logs]
    hidden = _hidden_cells(lines)
    labels = label_names((line.run for line in lines), _WIDEST_NAME, drop_folder=False).shown
    rows = [["run", "tags", "points", *hidden[0], "steps", "duration", "size", "problems"]]
    rows += [
        [
            labels[line.run],
            human_count(sum(line.kinds.values())),
            human_count(line.points),
            *cell,
            human_span(line.steps),
            human_duration(line.duration),
            human_bytes(line.size),
            human_count(line.problems) if line.problems else "",
        ]
        for line, cell in zip(lines, hidden[1:], strict=True)
    ]
    return rows


def _tag_rows(tags: list[TagLine]) -> list[list[str]]:
    """Return a row of headings, then one row for each of the first tags."""
    lines = tags[:_SHOWN]
    hidden = _hidden_cells(lines)
    labels = label_names((line.tag for line in lines), _WIDEST_NAME, drop_folder=False).shown
    rows = [["tag", "kind", "points", *hidden[0], "steps"]]
    rows += [
        [
            labels[line.tag],
            escape(name_kind(line.kind, line.plugin, line.size)),
            human_count(line.points),
            *cell,
            human_span((line.first_step, line.last_step) if line.points else None),
        ]
        for line, cell in zip(lines, hidden[1:], strict=True)
    ]
    return rows


def _hidden_cells(lines: Sequence[RunLine | TagLine]) -> list[list[str]]:
    """Return a column of hidden points, heading first; no cells if no points are hidden."""
    if not any(line.hidden for line in lines):
        return [[] for _ in range(1 + len(lines))]
    return [["hidden"], *([human_count(line.hidden)] for line in lines)]


def align_rows(rows: list[list[str]]) -> str:
    """Return rows as aligned text: the first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def html_table(caption: str, rows: list[list[str]]) -> str:
    """Return rows as an HTML table; everything but the caption is escaped."""
    head, *others = rows
    body = "".join(_html_row(row, "td") for row in others)
    return f"<table>{caption}{_html_row(head, 'th')}{body}</table>"


def _html_row(cells: list[str], element: str) -> str:
    return "<tr>" + "".join(f"<{element}>{html.escape(c)}</{element}>" for c in cells) + "</tr>"
