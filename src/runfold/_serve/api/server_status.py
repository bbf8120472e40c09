"""A summary of what is served: version, number of runs and tags, and whether they grow."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

import runfold
from runfold._serve.http.endpoint import endpoint
from runfold._serve.tensorboards.process_files import empty_logdir
from runfold._storage.url import mask_url
from runfold._tables.by_run.run_columns import MOST_TAGS
from runfold._tables.frames.unknown_plugins import list_plugins, total_plugins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._serve.run_source import Source


class PluginValues(TypedDict):
    """Values of a plugin that Runfold does not support."""

    plugin: str
    kind: str
    values: int
    size: int


class PluginTotal(PluginValues):
    """Values of a plugin, summed over its tags."""

    tags: int


class StatusResponse(TypedDict):
    """A summary of what is served. `hasLogdir` is false for the background service.

    Reports from older versions lack `plugins`.
    """

    version: str
    hasLogdir: bool
    title: str
    generation: int
    runs: int
    isLive: bool
    kinds: dict[str, int]
    plugins: NotRequired[list[PluginTotal]]


@endpoint("GET /api/status", queue="work")
def describe_server(source: Source) -> StatusResponse:
    """Summarize what is served."""
    runs = source.runs()
    tags = runs.tags
    return {
        "version": runfold.__version__,
        "hasLogdir": tuple(map(os.path.abspath, source.paths)) != (empty_logdir(),),
        "title": ", ".join(
            os.path.basename(os.path.abspath(mask_url(path))) for path in source.paths
        ),
        "generation": source.generation,
        "runs": len(runs),
        "isLive": source.is_live,
        "kinds": {kind: len(names) for kind, names in tags.items()},
        "plugins": list_totals(source),
    }


def list_totals(source: Source, runs: Iterable[str] | None = None) -> list[PluginTotal]:
    """Return totals per unsupported plugin, for the given runs or, by default, for all runs."""
    facts = source.facts() if runs is None else None
    # A plain run contains no values of unknown plugins.
    logs = source.logs(runs) if facts is None else facts.logs.values()
    lines = (line for log in logs for line in list_plugins(log))
    return [cast("PluginTotal", asdict(total)) for total in total_plugins(lines)[:MOST_TAGS]]
