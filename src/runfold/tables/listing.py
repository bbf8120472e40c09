"""One line for each run: what it holds, at a glance."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold.events.kinds import KINDS
from runfold.labels import label_names
from runfold.storage.address import show_url
from runfold.text import escape, human_bytes, human_count, human_duration, human_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold.logdir.load import Logdir
    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.logdir.series import Series


@dataclass(frozen=True, slots=True)
class TagLine:
    """One tag of a run."""

    tag: str
    kind: str
    points: int
    first_step: int
    last_step: int
    hidden: int


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run: how much it holds, over which steps and how long, and what is wrong."""

    run: str
    path: str
    files: int
    size: int
    start: float
    duration: float
    points: int
    hidden: int
    steps: tuple[int, int] | None
    tags: list[TagLine]
    projector_config: str | None
    problems: int

    @property
    def kinds(self) -> dict[str, int]:
        """How many tags there are of each kind, scalars first."""
        counts = dict.fromkeys(KINDS, 0)
        for line in self.tags:
            counts[line.kind] += 1
        return {kind: count for kind, count in counts.items() if count}


def list_run(log: RunLog) -> RunLine:
    """The line of one run, which is read for it."""
    entries: list[tuple[str, str, Series | Payloads]] = [
        ("scalar", tag, series) for tag, series in log.scalars.items()
    ]
    entries += [(kind, tag, payloads) for (kind, tag), payloads in log.payloads.items()]
    tags = [
        TagLine(
            tag,
            kind,
            len(entry),
            int(entry.steps.min()) if len(entry) else 0,
            int(entry.steps.max()) if len(entry) else 0,
            entry.hidden,
        )
        for kind, tag, entry in entries
    ]
    shown = [line for line in tags if line.points]
    start, end = log.wall_time_range
    return RunLine(
        run=log.name,
        path=log.path,
        files=len(log.all_files),
        size=log.size,
        start=start,
        duration=end - start if not math.isnan(start) else math.nan,
        points=sum(line.points for line in tags),
        hidden=sum(line.hidden for line in tags),
        steps=(min(one.first_step for one in shown), max(one.last_step for one in shown))
        if shown
        else None,
        tags=tags,
        projector_config=log.config,
        problems=len(log.list_problems()),
    )


def describe_runs(logdir: Logdir, names: Sequence[str]) -> str:
    """A table of the first of some runs for the terminal. Only those that are shown are read."""
    count = len(names)
    paths = ", ".join(show_url(str(path)) for path in logdir.paths)
    head = f"{_count_runs(logdir, names)} in {paths}"
    if not count:
        return head
    table = align_rows(_run_rows(logdir, names))
    more = f"\n... and {count - _SHOWN} more" if count > _SHOWN else ""
    return f"{head}\n{table}{more}"


def runs_html(logdir: Logdir, names: Sequence[str]) -> str:
    """The same table for a notebook."""
    more = f" (the first {_SHOWN} are shown)" if len(names) > _SHOWN else ""
    caption = f"<caption>{_count_runs(logdir, names)}{more}</caption>"
    return html_table(caption, _run_rows(logdir, names))


def _count_runs(logdir: Logdir, names: Sequence[str]) -> str:
    count, every = len(names), len(logdir.logs)
    chosen = human_count(count, "run")
    return chosen if count == every else f"{chosen} of {human_count(every)}"


def describe_run(log: RunLog) -> str:
    """One run and its tags for the terminal."""
    line = list_run(log)
    head = f"Run {escape(line.run)}: {human_count(line.points, 'point')}"
    if not line.tags:
        return head
    table = align_rows(_tag_rows(line.tags))
    more = f"\n... and {len(line.tags) - _SHOWN} more" if len(line.tags) > _SHOWN else ""
    return f"{head}\n{table}{more}"


def tags_html(log: RunLog) -> str:
    """The tags of one run as a table for a notebook."""
    tags = list_run(log).tags
    more = f" (the first {_SHOWN} of {len(tags):,} tags are shown)" if len(tags) > _SHOWN else ""
    caption = f"<caption>Run {html.escape(escape(log.name))}{more}</caption>"
    return html_table(caption, _tag_rows(tags))


_SHOWN = 20
_WIDEST_NAME = 60


def _run_rows(logdir: Logdir, names: Sequence[str]) -> list[list[str]]:
    """Headings and the first runs, which are read for it."""
    logs = [logdir.logs[name] for name in names[:_SHOWN]]
    logdir.load(logs)
    lines = [list_run(log) for log in logs]
    hidden = _hidden_cells(lines)
    labels = label_names((line.run for line in lines), _WIDEST_NAME, drop_folder=False).shown
    rows = [["run", "tags", "points", *hidden[0], "steps", "duration", "size", "problems"]]
    rows += [
        [
            labels[line.run],
            human_count(len(line.tags)),
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
    """Headings and the first tags."""
    lines = tags[:_SHOWN]
    hidden = _hidden_cells(lines)
    labels = label_names((line.tag for line in lines), _WIDEST_NAME, drop_folder=False).shown
    rows = [["tag", "kind", "points", *hidden[0], "steps"]]
    rows += [
        [
            labels[line.tag],
            line.kind,
            human_count(line.points),
            *cell,
            human_span((line.first_step, line.last_step) if line.points else None),
        ]
        for line, cell in zip(lines, hidden[1:], strict=True)
    ]
    return rows


def _hidden_cells(lines: Sequence[RunLine | TagLine]) -> list[list[str]]:
    """A heading and a cell a line with what restarts hid; nothing where they hid nothing."""
    if not any(line.hidden for line in lines):
        return [[] for _ in range(1 + len(lines))]
    return [["hidden"], *([human_count(line.hidden)] for line in lines)]


def align_rows(rows: list[list[str]]) -> str:
    """Columns of text: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def html_table(caption: str, rows: list[list[str]]) -> str:
    """The same for a notebook, nothing in it taken for HTML but the caption."""
    head, *others = rows
    body = "".join(_html_row(row, "td") for row in others)
    return f"<table>{caption}{_html_row(head, 'th')}{body}</table>"


def _html_row(cells: list[str], element: str) -> str:
    return "<tr>" + "".join(f"<{element}>{html.escape(c)}</{element}>" for c in cells) + "</tr>"
