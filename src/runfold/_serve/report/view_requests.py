"""The requests that the page makes to show a view, made once for its report."""

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

# Before they are compressed, which halves them.
MOST_OF_CURVES = 48 << 20
# More points than that in one chart are slow to draw.
MOST_OF_CHART = 4 << 20
MOST_OF_MEDIA = 24 << 20
# As a list of values takes.
MOST_RUNS = 1000
# Every point, or else so many columns of pixels: a screen full, and less for very many runs.
_WIDTHS: tuple[int | None, ...] = (None, 2000, 1000, 500, 200)
_BINS = 60
_METRIC = re.compile(METRIC)


@dataclass
class Visit:
    """What a visitor of a view asks with, and has to say in the end.

    Attributes:
        kinds: the tags of each kind in these runs; those not in the report are taken out.
        wanted: the tags that the view looks for.
    """

    recording: Recording
    view: View
    runs: list[str]
    schema: pa.Schema
    kinds: dict[str, list[TagEntry]]
    wanted: set[str]
    notes: list[str] = field(default_factory=list)

    def find_tag(self, kind: str) -> str | None:
        """The tag that a view of one kind shows; the only one of its kind in the report."""
        # What runs say of themselves last, as the page has them.
        tags = sorted((one["tag"] for one in self.kinds.get(kind, [])), key=is_story_tag)
        tag = self.view.full if self.view.full in tags else next(iter(tags), None)
        self.keep_tags(kind, [] if tag is None else [tag])
        return tag

    def keep_tags(self, kind: str, tags: Iterable[str]) -> None:
        """Leave the other tags of a kind out of the report."""
        kept = set(tags)
        self.kinds[kind] = [one for one in self.kinds.get(kind, []) if one["tag"] in kept]

    async def record_values(self, path: str, asked: list[tuple[str, str]]) -> None:
        """Keep a list of values of the runs, which the page asks for without their names."""
        await self.recording.record(path, asked, [*asked, *self.name_runs()])

    async def record_list(self, name: str) -> None:
        """Keep what the page asks for of all runs at once, but of these runs alone."""
        _, data = await self.recording.ask(f"/api/{name}")
        answer, runs = json.loads(data), set(self.runs)
        answer[name] = [one for one in answer[name] if one["run"] in runs]
        text = json.dumps(answer).encode()
        await self.recording.keep(f"/api/{name}", (), "application/json", text)

    def name_runs(self) -> list[tuple[str, str]]:
        """The part of a query that names the runs, as many as it may name."""
        if len(self.runs) > MOST_RUNS:
            self.notes.append(f"Values of {MOST_RUNS:,} of {len(self.runs):,} runs are here.")
        return [("run", run) for run in self.runs[:MOST_RUNS]]


async def visit(seen: Visit) -> None:
    """Record the answers that the view needs besides the runs, the tags and the status."""
    if seen.view.by:
        by = {"by": seen.view.by}
        await seen.recording.record("/api/groups", by, by | {"runs": seen.runs})
    await VISITS[seen.view.tab](seen)


async def _see_nothing(seen: Visit) -> None:
    pass


async def _see_curves(seen: Visit) -> None:
    view = seen.view
    others = {*view.together, view.full}
    tags = [one["tag"] for one in seen.kinds.get("scalar", [])]
    tags = [tag for tag in tags if tag in seen.wanted or tag in others]
    seen.keep_tags("scalar", tags)
    asked: dict[str, Any] = {"runs": None, "x": view.x, "log": view.is_log_x}
    if view.is_folded:
        fold = {"by": view.by or None, "centre": view.centre, "band": view.band, "align": "auto"}
        asked |= fold
    most = min(MOST_OF_CHART, MOST_OF_CURVES // max(1, len(tags)))
    await seen.record_list("marks")
    path = "/api/fold" if view.is_folded else "/api/curves"
    thinned = [tag for tag in tags if await _see_chart(seen, path, asked | {"tags": [tag]}, most)]
    if thinned:
        seen.notes.append(
            f"{len(thinned)} of {len(tags)} charts have too many points for a report: they show"
            " the extremes of small intervals, also when zoomed in."
        )


async def _see_chart(seen: Visit, path: str, asked: dict[str, Any], most: int) -> bool:
    """Record one chart, in the largest width that fits; whether that is not all of its points."""
    body = asked | {"runs": seen.runs, "smooth": seen.view.smooth}
    for width in _WIDTHS:
        try:
            kind, data = await seen.recording.ask(path, body | {"width": width})
        except TooLarge:
            continue
        except RunfoldError:
            break
        if len(data) <= most or width == _WIDTHS[-1]:
            await seen.recording.keep(path, asked, kind, data)
            return width is not None
    # What is wrong, as the page would show it.
    await seen.recording.record(path, asked, body | {"width": _WIDTHS[-1]})
    return False


async def _see_images(seen: Visit) -> None:
    await _see_media(seen, "image", "/api/images", "images")


async def _see_audio(seen: Visit) -> None:
    await _see_media(seen, "audio", "/api/audio", "clips")


async def _see_media(seen: Visit, kind: str, path: str, name: str) -> None:
    """Record what is listed for a tag and the files themselves, the newest first."""
    tag = seen.find_tag(kind)
    if tag is None:
        return
    _, data = await seen.recording.ask(path, [("tag", tag), *seen.name_runs()])
    answer = json.loads(data)
    listed: list[dict[str, Any]] = answer[name]
    kept, size = set(), 0
    for entry in sorted(listed, key=lambda one: -int(one["step"])):
        place = [] if "problem" in entry else _place_blob(entry, kind, tag)
        if place:
            try:
                media_type, blob = await seen.recording.ask("/api/blob", place)
            except RunfoldError:  # too large, or gone since it was listed
                continue
            if size + len(blob) > MOST_OF_MEDIA:
                continue
            size += len(blob)
            await seen.recording.keep("/api/blob", place, media_type, blob)
        kept.add(id(entry))
    answer[name] = [entry for entry in listed if id(entry) in kept]
    if len(kept) < len(listed):
        seen.notes.append(
            f"{len(listed) - len(kept)} of {len(listed)} {name} are left out: a report has room"
            f" for {human_bytes(MOST_OF_MEDIA)} of them, and the newest came first."
        )
    text = json.dumps(answer).encode()
    await seen.recording.keep(path, [("tag", tag)], "application/json", text)


def _place_blob(entry: dict[str, Any], kind: str, tag: str) -> list[tuple[str, str]]:
    """What the page asks for the bytes of an entry; of a picture with boxes, the bare one."""
    boxes = entry.get("boxes")
    if boxes and not boxes.get("isCut"):
        kind, row, index = "boxes", boxes["blob"], 0
    else:
        row, index = entry["blob"], entry["index"]
    run = entry["run"]
    return [("kind", kind), ("run", run), ("tag", tag), ("row", row), ("index", str(index))]


async def _see_texts(seen: Visit) -> None:
    tag = seen.find_tag("text")
    if tag is not None:
        await seen.record_values("/api/texts", [("tag", tag)])


async def _see_histograms(seen: Visit) -> None:
    tag = seen.find_tag("histogram")
    if tag is not None:
        await seen.record_values("/api/histograms", [("tag", tag), ("bins", str(_BINS))])


def _find_metrics(schema: pa.Schema) -> list[dict[str, str]]:
    metrics = []
    for one in schema:
        told = {key.decode(): value.decode() for key, value in (one.metadata or {}).items()}
        if told.get("kind") == "statistic" and not is_system_tag(told["name"]):
            metrics.append(told | {"key": one.name})
    return metrics


def _choose_metric(metrics: list[dict[str, str]], field: str, wanted: str) -> dict[str, str] | None:
    """The metric that is asked for, or the one that the page takes unasked."""
    named = [one for one in metrics if one[field] == wanted]
    guessed = [one for one in metrics if _METRIC.search(one[field])]
    return next(iter((*named, *guessed, *metrics)), None)


async def _see_hparams(seen: Visit) -> None:
    metric = _choose_metric(_find_metrics(seen.schema), "key", seen.view.metric)
    if metric is not None:
        asked = {"tag": metric["name"], "stat": metric["stat"], "runs": seen.runs}
        await seen.recording.record("/api/importance", asked)


async def _see_comparison(seen: Visit) -> None:
    view = seen.view
    metric = _choose_metric(_find_metrics(seen.schema), "name", view.metric)
    if metric is not None and view.by:
        asked = {
            "tags": [metric["name"]],
            "by": view.by,
            "at": view.at,
            "better": view.better or None,
        }
        await seen.recording.record("/api/compare", asked | {"runs": seen.runs})


async def _see_run(seen: Visit) -> None:
    view, recording = seen.view, seen.recording
    run = view.run if view.run in seen.runs else seen.runs[0]
    if view.other in seen.runs:
        await recording.record("/api/diff", [("a", run), ("b", view.other)])
        return
    for path in ("/api/run", "/api/system"):
        await recording.record(path, [("run", run)])
    after, total = 0, 1
    while after < total:
        asked = [("run", run), ("after", str(after))]
        piece = json.loads(await recording.record("/api/output", asked))
        before, after, total = after, piece.get("next", total), piece.get("total", total)
        if after <= before:
            break


async def _see_more(seen: Visit) -> None:
    part = seen.view.part
    if part == "pr_curves":
        tag = seen.find_tag("pr_curve")
        if tag is not None:
            await seen.record_values("/api/pr_curves", [("tag", tag)])
    elif part == "meshes":
        tag = seen.find_tag("mesh")
        if tag is not None:
            step = [] if seen.view.step is None else [("step", str(seen.view.step))]
            await seen.record_values("/api/meshes", [("tag", tag), *step])
    elif part != "others":
        await seen.record_list("problems")


async def _see_answer(seen: Visit) -> None:
    if seen.view.query:
        await seen.recording.record("/api/sql", {"query": seen.view.query})


VISITS: dict[str, Callable[[Visit], Awaitable[None]]] = {
    "runs": _see_nothing,
    "curves": _see_curves,
    "images": _see_images,
    "audio": _see_audio,
    "text": _see_texts,
    "histograms": _see_histograms,
    "more": _see_more,
    "hparams": _see_hparams,
    "compare": _see_comparison,
    "run": _see_run,
    "sql": _see_answer,
}
