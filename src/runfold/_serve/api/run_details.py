"""Details of a run, its console output, and a diff of two runs."""

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

# Limit on the characters of a source file or of output in one response: about a thousand pages.
LONGEST = 2_000_000
_MOST_PROBLEMS = 1000
_MOST_MARKS = 1000
_CHART_WIDTH = 1000


class RunRequest(RequestFields):
    """One run."""

    run: Text


class OutputRequest(RequestFields):
    """A run's output after the first `after` pieces; if `after` is negative, the last pieces."""

    run: Text
    after: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)] = 0


class DiffRequest(RequestFields):
    """Two runs to compare."""

    a: Text
    b: Text


class RunStatus(TypedDict):
    """The status of a run, with times in seconds."""

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
    """A file saved with a run."""

    name: str
    size: int
    sha256: str


class RunMark(TypedDict):
    """An event marked by the run."""

    step: JsonNumber
    wall_time: float
    text: str


class TagPlugin(PluginValues):
    """Values of one tag of a plugin that Runfold does not support."""

    tag: str


class RunResponse(TypedDict):
    """Everything a run recorded. Reports from older versions lack `plugins` and `tagsLeftOut`."""

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
    """Part of the output, the index of the next piece, and the total number of pieces."""

    text: str
    next: int
    total: int


class DiffRow(TypedDict):
    """One value in two runs; a side without the value is omitted."""

    name: str
    a: NotRequired[Json]
    b: NotRequired[Json]
    isSame: bool


class DiffSection(TypedDict):
    """The rows of one section of the diff."""

    title: str
    rows: list[DiffRow]


class FinalRow(TypedDict):
    """Step and value of a tag's last point in two runs."""

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
def describe_run(source: Source, request: RunRequest) -> RunResponse:
    """Describe a run: its status, config, code and content; null or empty if not recorded."""
    name = request.run
    log, run = source.log(name), source.runs()[name]
    line, code = list_run(log), run.code
    files = {} if code is None else dict(code.files)
    if code is not None and code.script and code.script_text:
        files.setdefault(code.script, code.script_text)
    return {
        "name": name,
        "status": cast("RunStatus", dataclasses.asdict(run.status)),
        "config": run.config,
        "code": None
        if code is None
        else cast("RunCode", {part: getattr(code, part) for part in RunCode.__annotations__}),
        "diff": "" if code is None else shorten(code.diff),
        "files": {path: shorten(text) for path, text in files.items()},
        "command": run.command,
        "host": run.host,
        "packages": run.packages,
        "environment": run.environment,
        "artifacts": [
            {"name": artifact.name, "size": artifact.size, "sha256": artifact.sha256}
            for artifact in run.artifacts
        ],
        "marks": [cast("RunMark", dataclasses.asdict(mark)) for mark in run.marks[:_MOST_MARKS]],
        **describe_problems(log.list_problems(), _MOST_PROBLEMS),
        "tags": {kind: names[:MOST_TAGS] for kind, names in run.tags.items()},
        "tagsLeftOut": {
            kind: len(names) - MOST_TAGS
            for kind, names in run.tags.items()
            if len(names) > MOST_TAGS
        },
        "plugins": [
            cast("TagPlugin", dataclasses.asdict(plugin)) for plugin in line.plugins[:MOST_TAGS]
        ],
        "hidden": line.hidden,
        "points": line.points,
        "steps": line.steps,
    }


@endpoint("GET /api/output", OutputRequest, queue="work")
def read_output(source: Source, request: OutputRequest) -> OutputResponse:
    """Return a run's console output after the pieces already known.

    The response has the text, the index of the next piece and the total number of pieces. The text
    is limited in length, but contains at least one piece. If the text was cut, `next` is less than
    `total`. If the run's files were replaced, the output starts again from the beginning.
    """
    log = source.log(request.run)
    pieces = find_part(log, OUTPUT)
    if pieces is None:
        return {"text": "", "next": 0, "total": 0}
    total = len(pieces)
    start = max(0, total + request.after) if request.after < 0 else request.after
    start = 0 if start > total else start
    sizes = pieces.items["length"][start:].cumsum()
    stop = min(total, start + max(1, int((sizes <= LONGEST).sum())))
    text = "".join(read_all(log, OUTPUT, slice(start, stop)))
    return {"text": text, "next": stop, "total": total}


@endpoint("GET /api/system", RunRequest, queue="work", response=ArrowResponse)
def encode_system(source: Source, request: RunRequest) -> bytes:
    """Return the system metrics of a run.

    The response is an Arrow stream of tag, x (seconds since the run's first event) and y.
    Long series are downsampled to what a chart can show.
    """
    log = source.log(request.run)
    first = log.wall_time_range[0]
    series = [item for item in read_system(log) if len(item)]
    if not series:
        series = [Series(log.name, "", *np.zeros((3, 0)))]
    batch = SeriesBatch.of([(item.wall_times - first, item.values) for item in series]).in_order()
    batch = batch.thin(_CHART_WIDTH)
    names = text_array([item.tag for item in series])
    columns = {
        "tag": pa.DictionaryArray.from_arrays(number_array(batch.numbers), names),
        "x": number_array(batch.x),
        "y": number_array(batch.columns[0]),
    }
    return encode_table(pa.table(columns))


@endpoint("GET /api/diff", DiffRequest, queue="work")
def describe_diff(source: Source, request: DiffRequest) -> DiffResponse:
    """Compare what two runs recorded; a side without a value is omitted."""
    a, b = request.a, request.b
    source.logs([a, b])
    difference = source.runs()[a].diff(source.runs()[b])
    code = [
        line
        for name, lines in difference.changes.items()
        for line in (f"diff a/{name} b/{name}", *lines)
    ]
    return {
        "sections": [
            {"title": title, "rows": [_describe_entry(entry) for entry in entries]}
            for title, entries in difference.sections.items()
        ],
        "code": shorten("\n".join(code)),
        "finals": [
            {"tag": final.tag, "a": final.a, "b": final.b, "isSame": final.is_same}
            for final in difference.finals
        ],
        "onlyA": difference.only_a,
        "onlyB": difference.only_b,
    }


def _describe_entry(entry: Entry) -> DiffRow:
    row: DiffRow = {"name": entry.name, "isSame": entry.is_same}
    if entry.a is not MISSING:
        row["a"] = entry.a
    if entry.b is not MISSING:
        row["b"] = entry.b
    return row


def shorten(text: str) -> str:
    """Return the text, or its beginning and the number of characters left out."""
    if len(text) <= LONGEST:
        return text
    rest = human_count(len(text) - LONGEST, "character")
    return f"{text[:LONGEST]}\n… {rest} more …\n"
