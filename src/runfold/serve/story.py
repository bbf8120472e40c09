"""One run as it tells of itself, its console output, and two runs side by side."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
from starlette.routing import Route

from runfold.log.story import OUTPUT
from runfold.logdir.series import Series
from runfold.serve.answer import JsonResponse
from runfold.serve.arrow import ArrowResponse, encode_table, number_array, text_array
from runfold.serve.problems import describe_problems
from runfold.serve.request import Limit, read_query
from runfold.serve.thin import Stack
from runfold.tables.columns import MOST_TAGS
from runfold.tables.difference import MISSING, Entry
from runfold.tables.listing import list_run
from runfold.tables.story import find_part, read_all, read_system
from runfold.text import human_count

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source

# A text of code, and what an answer takes of the output: about a thousand pages.
LONGEST = 2_000_000
_MOST_PROBLEMS = 1000
_MOST_MARKS = 1000
_CHART_WIDTH = 1000
_CODE = ("commit", "branch", "remote", "is_dirty", "script", "masked", "left_out", "notes")


@dataclass(frozen=True)
class OneRun:
    """A run."""

    run: str


@dataclass(frozen=True)
class Output:
    """The output of a run behind so many pieces; before 0, the last so many."""

    run: str
    after: Annotated[int, Limit(-(1 << 31), 1 << 31)] = 0


@dataclass(frozen=True)
class TwoRuns:
    """Two runs."""

    a: str
    b: str


async def run(request: Request) -> Response:
    """All that a run says of itself, and what is in it."""
    source: Source = request.app.state.source
    name = read_query(request, OneRun).run
    return JsonResponse(await source.work(describe_run, source, name))


async def output(request: Request) -> Response:
    """What a run wrote on the console: the pieces behind those that are known."""
    source: Source = request.app.state.source
    asked = read_query(request, Output)
    return JsonResponse(await source.work(read_output, source, asked))


async def machine(request: Request) -> Response:
    """The load of the machine while a run ran."""
    source: Source = request.app.state.source
    name = read_query(request, OneRun).run
    return ArrowResponse(await source.work(encode_system, source, name))


async def diff(request: Request) -> Response:
    """What two runs say, side by side."""
    source: Source = request.app.state.source
    asked = read_query(request, TwoRuns)
    return JsonResponse(await source.work(describe_diff, source, asked.a, asked.b))


def describe_run(source: Source, name: str) -> dict[str, Any]:
    """The story of a run, part by part; null or empty for what it does not tell."""
    log, found = source.log(name), source.runs()[name]
    line, code = list_run(log), found.code
    files = {} if code is None else dict(code.files)
    if code is not None and code.script and code.script_text:
        files.setdefault(code.script, code.script_text)
    return {
        "name": name,
        "status": dataclasses.asdict(found.status),
        "config": found.config,
        "code": None if code is None else {part: getattr(code, part) for part in _CODE},
        "diff": "" if code is None else shorten(code.diff),
        "files": {path: shorten(text) for path, text in files.items()},
        "command": found.command,
        "host": found.host,
        "packages": found.packages,
        "environment": found.environment,
        "artifacts": [
            {"name": one.name, "size": one.size, "sha256": one.sha256} for one in found.artifacts
        ],
        "marks": [dataclasses.asdict(one) for one in found.marks[:_MOST_MARKS]],
        **describe_problems(log.list_problems(), _MOST_PROBLEMS),
        "tags": {kind: names[:MOST_TAGS] for kind, names in found.tags.items()},
        "tagsLeftOut": {
            kind: len(names) - MOST_TAGS
            for kind, names in found.tags.items()
            if len(names) > MOST_TAGS
        },
        "plugins": [dataclasses.asdict(one) for one in line.plugins[:MOST_TAGS]],
        "hidden": line.hidden,
        "points": line.points,
        "steps": line.steps,
    }


def read_output(source: Source, asked: Output) -> dict[str, Any]:
    """The text behind some pieces, where to go on, and how many pieces there are.

    One answer takes a limited length, but at least one piece: `next` is less than
    `total` then. A run whose files became others is told from its beginning.
    """
    log = source.log(asked.run)
    pieces = find_part(log, OUTPUT)
    if pieces is None:
        return {"text": "", "next": 0, "total": 0}
    total = len(pieces)
    start = max(0, total + asked.after) if asked.after < 0 else asked.after
    start = 0 if start > total else start
    sizes = pieces.items["length"][start:].cumsum()
    stop = min(total, start + max(1, int((sizes <= LONGEST).sum())))
    text = "".join(read_all(log, OUTPUT, slice(start, stop)))
    return {"text": text, "next": stop, "total": total}


def encode_system(source: Source, name: str) -> bytes:
    """An Arrow stream of tag, x (seconds since the run's first event) and y.

    Of long series as many points are sent as a chart shows.
    """
    log = source.log(name)
    first = log.wall_time_range[0]
    series = [one for one in read_system(log) if len(one)]
    if not series:
        series = [Series(name, "", *np.zeros((3, 0)))]
    stack = Stack.of([(one.wall_times - first, one.values) for one in series]).in_order()
    stack = stack.thin(_CHART_WIDTH)
    names = text_array([one.tag for one in series])
    columns = {
        "tag": pa.DictionaryArray.from_arrays(number_array(stack.numbers), names),
        "x": number_array(stack.x),
        "y": number_array(stack.columns[0]),
    }
    return encode_table(pa.table(columns))


def describe_diff(source: Source, a: str, b: str) -> dict[str, Any]:
    """What each of two runs says of each thing; a side that says nothing of it is not there."""
    source.logs([a, b])
    found = source.runs()[a].diff(source.runs()[b])
    code = [
        line
        for name, lines in found.changes.items()
        for line in (f"diff a/{name} b/{name}", *lines)
    ]
    return {
        "sections": [
            {"title": title, "rows": [_describe_entry(entry) for entry in entries]}
            for title, entries in found.sections.items()
        ],
        "code": shorten("\n".join(code)),
        "finals": [
            {"tag": one.tag, "a": one.a, "b": one.b, "isSame": one.is_same} for one in found.finals
        ],
        "onlyA": found.only_a,
        "onlyB": found.only_b,
    }


def _describe_entry(entry: Entry) -> dict[str, Any]:
    sides = {"a": entry.a, "b": entry.b}
    said = {side: value for side, value in sides.items() if value is not MISSING}
    return {"name": entry.name, **said, "isSame": entry.is_same}


def shorten(text: str) -> str:
    """The text, or its beginning and how much is left out."""
    if len(text) <= LONGEST:
        return text
    rest = human_count(len(text) - LONGEST, "character")
    return f"{text[:LONGEST]}\n… {rest} more …\n"


ROUTES = [
    Route("/api/run", run),
    Route("/api/output", output),
    Route("/api/system", machine),
    Route("/api/diff", diff),
]
