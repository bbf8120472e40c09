"""One run as it tells of itself, its console output, and two runs side by side."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict, cast

import numpy as np
import pyarrow as pa
from msgspec import Meta

from runfold._humanize import human_count
from runfold._logdir.series import Series
from runfold._serve.api.problem_list import ProblemEntry, describe_problems
from runfold._serve.api.server_status import PluginValues
from runfold._serve.charts.downsample import SeriesBatch
from runfold._serve.http.arrow_response import ArrowResponse, encode_table, number_array, text_array
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.request_fields import RequestFields, Text
from runfold._serve.page_vocabulary import Json, JsonNumber
from runfold._story.story_parts import OUTPUT
from runfold._tables.by_run.difference import MISSING, Entry
from runfold._tables.by_run.listing import list_run
from runfold._tables.by_run.run_columns import MOST_TAGS
from runfold._tables.by_run.run_story import find_part, read_all, read_system

if TYPE_CHECKING:
    from runfold._serve.run_source import Source

# A text of code, and what an answer takes of the output: about a thousand pages.
LONGEST = 2_000_000
_MOST_PROBLEMS = 1000
_MOST_MARKS = 1000
_CHART_WIDTH = 1000


class RunRequest(RequestFields):
    """A run."""

    run: Text


class OutputRequest(RequestFields):
    """The output of a run behind so many pieces; before 0, the last so many."""

    run: Text
    after: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)] = 0


class DiffRequest(RequestFields):
    """Two runs."""

    a: Text
    b: Text


class RunStatus(TypedDict):
    """How a run fares, with times in seconds."""

    state: str
    started: float | None
    ended: float | None
    exit: int | None
    traceback: str | None
    heartbeat: float | None


class RunCode(TypedDict):
    """The code that a run was started from."""

    commit: str
    branch: str | None
    remote: str | None
    is_dirty: bool
    script: str
    masked: list[str]
    left_out: dict[str, str]
    notes: list[str]


class ArtifactEntry(TypedDict):
    """A file that was saved with a run."""

    name: str
    size: int
    sha256: str


class RunMark(TypedDict):
    """An event that the run marked."""

    step: JsonNumber
    wall_time: float
    text: str


class TagPlugin(PluginValues):
    """Values of one tag of a plugin that Runfold does not know."""

    tag: str


class RunResponse(TypedDict):
    """All that a run says of itself. Reports of older versions have no `plugins`, `tagsLeftOut`."""

    name: str
    status: RunStatus
    config: dict[str, Json]
    code: RunCode | None
    diff: str
    files: dict[str, str]
    command: Json
    host: dict[str, Json]
    packages: dict[str, Json]
    environment: dict[str, Json]
    artifacts: list[ArtifactEntry]
    marks: list[RunMark]
    problems: list[ProblemEntry]
    leftOut: int
    tags: dict[str, list[str]]
    tagsLeftOut: NotRequired[dict[str, int]]
    plugins: NotRequired[list[TagPlugin]]
    hidden: int
    points: int
    steps: Json


class OutputResponse(TypedDict):
    """A part of the output, the piece after it, and how many pieces there are."""

    text: str
    next: int
    total: int


class DiffRow(TypedDict):
    """What two runs say of one thing; a side that says nothing of it is not there."""

    name: str
    a: NotRequired[Json]
    b: NotRequired[Json]
    isSame: bool


class DiffSection(TypedDict):
    """Rows of one part of what runs say."""

    title: str
    rows: list[DiffRow]


class FinalRow(TypedDict):
    """The step and value of the last point of a tag."""

    tag: str
    a: tuple[JsonNumber, JsonNumber] | None
    b: tuple[JsonNumber, JsonNumber] | None
    isSame: bool


class DiffResponse(TypedDict):
    """How two runs differ."""

    sections: list[DiffSection]
    code: str
    finals: list[FinalRow]
    onlyA: list[str]
    onlyB: list[str]


@endpoint("GET /api/run", RunRequest, queue="work")
def describe_run(source: Source, asked: RunRequest) -> RunResponse:
    """All that a run says of itself, and what is in it; null or empty for what it does not say."""
    name = asked.run
    log, found = source.log(name), source.runs()[name]
    line, code = list_run(log), found.code
    files = {} if code is None else dict(code.files)
    if code is not None and code.script and code.script_text:
        files.setdefault(code.script, code.script_text)
    return {
        "name": name,
        "status": cast("RunStatus", dataclasses.asdict(found.status)),
        "config": found.config,
        "code": None
        if code is None
        else cast("RunCode", {part: getattr(code, part) for part in RunCode.__annotations__}),
        "diff": "" if code is None else shorten(code.diff),
        "files": {path: shorten(text) for path, text in files.items()},
        "command": found.command,
        "host": found.host,
        "packages": found.packages,
        "environment": found.environment,
        "artifacts": [
            {"name": one.name, "size": one.size, "sha256": one.sha256} for one in found.artifacts
        ],
        "marks": [cast("RunMark", dataclasses.asdict(one)) for one in found.marks[:_MOST_MARKS]],
        **describe_problems(log.list_problems(), _MOST_PROBLEMS),
        "tags": {kind: names[:MOST_TAGS] for kind, names in found.tags.items()},
        "tagsLeftOut": {
            kind: len(names) - MOST_TAGS
            for kind, names in found.tags.items()
            if len(names) > MOST_TAGS
        },
        "plugins": [cast("TagPlugin", dataclasses.asdict(one)) for one in line.plugins[:MOST_TAGS]],
        "hidden": line.hidden,
        "points": line.points,
        "steps": line.steps,
    }


@endpoint("GET /api/output", OutputRequest, queue="work")
def read_output(source: Source, asked: OutputRequest) -> OutputResponse:
    """What a run wrote on the console: the pieces after those that are known.

    The text, where to continue, and how many pieces there are. One answer takes a
    limited length, but at least one piece: `next` is less than `total` then. A run
    whose files became others is told from its beginning.
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


@endpoint("GET /api/system", RunRequest, queue="work", response=ArrowResponse)
def encode_system(source: Source, asked: RunRequest) -> bytes:
    """The load of the machine while a run ran.

    An Arrow stream of tag, x (seconds since the run's first event) and y. Of long
    series as many points are sent as a chart shows.
    """
    log = source.log(asked.run)
    first = log.wall_time_range[0]
    series = [one for one in read_system(log) if len(one)]
    if not series:
        series = [Series(log.name, "", *np.zeros((3, 0)))]
    batch = SeriesBatch.of([(one.wall_times - first, one.values) for one in series]).in_order()
    batch = batch.thin(_CHART_WIDTH)
    names = text_array([one.tag for one in series])
    columns = {
        "tag": pa.DictionaryArray.from_arrays(number_array(batch.numbers), names),
        "x": number_array(batch.x),
        "y": number_array(batch.columns[0]),
    }
    return encode_table(pa.table(columns))


@endpoint("GET /api/diff", DiffRequest, queue="work")
def describe_diff(source: Source, asked: DiffRequest) -> DiffResponse:
    """What two runs say, side by side; a side that says nothing of a thing is not there."""
    a, b = asked.a, asked.b
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


def _describe_entry(entry: Entry) -> DiffRow:
    row: DiffRow = {"name": entry.name, "isSame": entry.is_same}
    if entry.a is not MISSING:
        row["a"] = entry.a
    if entry.b is not MISSING:
        row["b"] = entry.b
    return row


def shorten(text: str) -> str:
    """The text, or its beginning and how much is left out."""
    if len(text) <= LONGEST:
        return text
    rest = human_count(len(text) - LONGEST, "character")
    return f"{text[:LONGEST]}\n… {rest} more …\n"
