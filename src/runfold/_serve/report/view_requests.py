"""The requests that the page makes to show a view. To record a report, each is made once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runfold._conventions import is_story_tag, is_system_tag
from runfold._humanize import human_bytes
from runfold._serve.http.error_responses import TooLarge
from runfold._serve.page_vocabulary import METRIC
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    import pyarrow as pa

    from runfold._serve.api.tag_list import TagEntry
    from runfold._serve.report.page_view import View
    from runfold._serve.report.recorded_answers import Recording

# Size limits before compression, which halves the size.
MOST_OF_CURVES = 48 << 20
# A chart with more bytes of points is slow to draw.
MOST_OF_CHART = 4 << 20
MOST_OF_MEDIA = 24 << 20
# The maximum number of runs in a request for a list of values.
MOST_RUNS = 1000
# Pixel columns to try: every point, then a full screen, then fewer for very many runs.
_WIDTHS: tuple[int | None, ...] = (None, 2000, 1000, 500, 200)
_BINS = 60
_METRIC = re.compile(METRIC)


@dataclass
class ViewRecorder:
    """Records the responses that a view needs, and notes on what is left out.

    Attributes:
        kinds: the tags of each kind in these runs; tags that the report leaves out are removed.
        matching_tags: the tags that match the view's filter.
    """

    recording: Recording
    view: View
    runs: list[str]
    schema: pa.Schema
    kinds: dict[str, list[TagEntry]]
    matching_tags: set[str]
    notes: list[str] = field(default_factory=list)

    def find_tag(self, kind: str) -> str | None:
        """Return the tag that a view of one kind shows, and keep only that tag in the report."""
        # Tags of the runs' own records come last, as on the page.
        tags = sorted((entry["tag"] for entry in self.kinds.get(kind, [])), key=is_story_tag)
        tag = self.view.full if self.view.full in tags else next(iter(tags), None)
        self.keep_tags(kind, [] if tag is None else [tag])
        return tag

    def keep_tags(self, kind: str, tags: Iterable[str]) -> None:
        """Remove the other tags of a kind from the report."""
        kept = set(tags)
        self.kinds[kind] = [entry for entry in self.kinds.get(kind, []) if entry["tag"] in kept]

    async def record_values(self, path: str, request: list[tuple[str, str]]) -> None:
        """Record a list of values for these runs. The page requests it without run names."""
        await self.recording.record(path, request, [*request, *self.name_runs()])

    async def record_list(self, name: str) -> None:
        """Record a list that the page requests for all runs, restricted to these runs."""
        _, data = await self.recording.fetch(f"/api/{name}")
        answer, runs = json.loads(data), set(self.runs)
        answer[name] = [entry for entry in answer[name] if entry["run"] in runs]
        text = json.dumps(answer).encode()
        await self.recording.keep(f"/api/{name}", (), "application/json", text)

    def name_runs(self) -> list[tuple[str, str]]:
        """Return the query parameters that name the runs, up to the limit."""
        if len(self.runs) > MOST_RUNS:
            self.notes.append(
                f"This report contains values for only {MOST_RUNS:,} of {len(self.runs):,} runs."
            )
        return [("run", run) for run in self.runs[:MOST_RUNS]]


async def record_view(recorder: ViewRecorder) -> None:
    """Record the responses that the view needs in addition to runs, tags and status."""
    if recorder.view.by:
        by = {"by": recorder.view.by}
        await recorder.recording.record("/api/groups", by, by | {"runs": recorder.runs})
    await RECORDERS[recorder.view.tab](recorder)


async def _record_nothing(recorder: ViewRecorder) -> None:
    pass


async def _record_curves(recorder: ViewRecorder) -> None:
    view = recorder.view
    named = {*view.together, view.full}
    tags = [entry["tag"] for entry in recorder.kinds.get("scalar", [])]
    tags = [tag for tag in tags if tag in recorder.matching_tags or tag in named]
    recorder.keep_tags("scalar", tags)
    request: dict[str, Any] = {"runs": None, "x": view.x, "log": view.is_log_x}
    if view.is_folded:
        fold = {"by": view.by or None, "center": view.center, "band": view.band, "align": "auto"}
        request |= fold
    most = min(MOST_OF_CHART, MOST_OF_CURVES // max(1, len(tags)))
    await recorder.record_list("marks")
    path = "/api/fold" if view.is_folded else "/api/curves"
    thinned = [
        tag for tag in tags if await _record_chart(recorder, path, request | {"tags": [tag]}, most)
    ]
    if thinned:
        recorder.notes.append(
            f"Too many points for a report in {len(thinned)} of {len(tags)} charts:"
            " only the extremes of small intervals are shown there, even when zoomed in."
        )


async def _record_chart(
    recorder: ViewRecorder, path: str, request: dict[str, Any], most: int
) -> bool:
    """Record one chart at the largest width that fits; return whether points were dropped."""
    body = request | {"runs": recorder.runs, "smooth": recorder.view.smooth}
    for width in _WIDTHS:
        try:
            kind, data = await recorder.recording.fetch(path, body | {"width": width})
        except TooLarge:
            continue
        except RunfoldError:
            break
        if len(data) <= most or width == _WIDTHS[-1]:
            await recorder.recording.keep(path, request, kind, data)
            return width is not None
    # Record the error, as the page would show it.
    await recorder.recording.record(path, request, body | {"width": _WIDTHS[-1]})
    return False


async def _record_images(recorder: ViewRecorder) -> None:
    await _record_media(recorder, "image", "/api/images", "images")


async def _record_audio(recorder: ViewRecorder) -> None:
    await _record_media(recorder, "audio", "/api/audio", "clips")


async def _record_media(recorder: ViewRecorder, kind: str, path: str, name: str) -> None:
    """Record the list of a tag's values, and the bytes of each value, newest first."""
    tag = recorder.find_tag(kind)
    if tag is None:
        return
    _, data = await recorder.recording.fetch(path, [("tag", tag), *recorder.name_runs()])
    answer = json.loads(data)
    listed: list[dict[str, Any]] = answer[name]
    kept, size = set(), 0
    for entry in sorted(listed, key=lambda item: -int(item["step"])):
        query = [] if "problem" in entry else _blob_query(entry, kind, tag)
        if query:
            try:
                media_type, blob = await recorder.recording.fetch("/api/blob", query)
            except RunfoldError:  # too large, or deleted since it was listed
                continue
            if size + len(blob) > MOST_OF_MEDIA:
                continue
            size += len(blob)
            await recorder.recording.keep("/api/blob", query, media_type, blob)
        kept.add(id(entry))
    answer[name] = [entry for entry in listed if id(entry) in kept]
    if len(kept) < len(listed):
        recorder.notes.append(
            f"Left out: {len(listed) - len(kept)} of {len(listed)} {name}. A report has room"
            f" for {human_bytes(MOST_OF_MEDIA)} of {name}, newest first. Values that are too large"
            " to send or were deleted are also left out."
        )
    text = json.dumps(answer).encode()
    await recorder.recording.keep(path, [("tag", tag)], "application/json", text)


def _blob_query(entry: dict[str, Any], kind: str, tag: str) -> list[tuple[str, str]]:
    """Return the query for an entry's bytes; images with boxes are requested without them."""
    boxes = entry.get("boxes")
    if boxes and not boxes.get("isCut"):
        kind, row, index = "boxes", boxes["blob"], 0
    else:
        row, index = entry["blob"], entry["index"]
    run = entry["run"]
    return [("kind", kind), ("run", run), ("tag", tag), ("row", row), ("index", str(index))]


async def _record_texts(recorder: ViewRecorder) -> None:
    tag = recorder.find_tag("text")
    if tag is not None:
        await recorder.record_values("/api/texts", [("tag", tag)])


async def _record_histograms(recorder: ViewRecorder) -> None:
    tag = recorder.find_tag("histogram")
    if tag is not None:
        await recorder.record_values("/api/histograms", [("tag", tag), ("bins", str(_BINS))])


def _find_metrics(schema: pa.Schema) -> list[dict[str, str]]:
    metrics = []
    for column in schema:
        properties = {
            key.decode(): value.decode() for key, value in (column.metadata or {}).items()
        }
        if properties.get("kind") == "statistic" and not is_system_tag(properties["name"]):
            metrics.append(properties | {"key": column.name})
    return metrics


def _choose_metric(
    metrics: list[dict[str, str]], field: str, requested: str
) -> dict[str, str] | None:
    """Return the requested metric, or else the one that the page shows by default."""
    named = [metric for metric in metrics if metric[field] == requested]
    guessed = [metric for metric in metrics if _METRIC.search(metric[field])]
    return next(iter((*named, *guessed, *metrics)), None)


async def _record_hparams(recorder: ViewRecorder) -> None:
    metric = _choose_metric(_find_metrics(recorder.schema), "key", recorder.view.metric)
    if metric is not None:
        request = {"tag": metric["name"], "stat": metric["stat"], "runs": recorder.runs}
        await recorder.recording.record("/api/importance", request)


async def _record_comparison(recorder: ViewRecorder) -> None:
    view = recorder.view
    metric = _choose_metric(_find_metrics(recorder.schema), "name", view.metric)
    if metric is not None and view.by:
        request = {
            "tags": [metric["name"]],
            "by": view.by,
            "at": view.at,
            "better": view.better or None,
        }
        await recorder.recording.record("/api/compare", request | {"runs": recorder.runs})


async def _record_run(recorder: ViewRecorder) -> None:
    view, recording = recorder.view, recorder.recording
    run = view.run if view.run in recorder.runs else recorder.runs[0]
    if view.other in recorder.runs:
        await recording.record("/api/diff", [("a", run), ("b", view.other)])
        return
    for path in ("/api/run", "/api/system"):
        await recording.record(path, [("run", run)])
    after, total = 0, 1
    while after < total:
        request = [("run", run), ("after", str(after))]
        piece = json.loads(await recording.record("/api/output", request))
        before, after, total = after, piece.get("next", total), piece.get("total", total)
        if after <= before:
            break


async def _record_more(recorder: ViewRecorder) -> None:
    part = recorder.view.part
    if part == "pr_curves":
        tag = recorder.find_tag("pr_curve")
        if tag is not None:
            await recorder.record_values("/api/pr_curves", [("tag", tag)])
    elif part == "meshes":
        tag = recorder.find_tag("mesh")
        if tag is not None:
            step = [] if recorder.view.step is None else [("step", str(recorder.view.step))]
            await recorder.record_values("/api/meshes", [("tag", tag), *step])
    elif part != "others":
        await recorder.record_list("problems")


async def _record_query(recorder: ViewRecorder) -> None:
    if recorder.view.query:
        await recorder.recording.record("/api/sql", {"query": recorder.view.query})


RECORDERS: dict[str, Callable[[ViewRecorder], Awaitable[None]]] = {
    "runs": _record_nothing,
    "curves": _record_curves,
    "images": _record_images,
    "audio": _record_audio,
    "text": _record_texts,
    "histograms": _record_histograms,
    "more": _record_more,
    "hparams": _record_hparams,
    "compare": _record_comparison,
    "run": _record_run,
    "sql": _record_query,
}
