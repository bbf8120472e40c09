"""The number and size of values of plugins that Runfold does not support.

Most of these values are tensors, which can be read as arrays. Only the plugin can read the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._events.kinds import TENSOR, UNKNOWN
from runfold._humanize import human_bytes, human_count, human_list

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._logdir.run_log import RunLog

_SENTENCES = {UNKNOWN: "Not decoded", TENSOR: "Listed as tensors"}


@dataclass(frozen=True, slots=True)
class PluginLine:
    """The number of values of one tag of a plugin, and their size in bytes.

    The kind is "tensor", or "unknown" for values that only the plugin can read.
    """

    tag: str
    plugin: str
    kind: str
    values: int
    size: int


@dataclass(frozen=True, slots=True)
class PluginTotal:
    """The number of a plugin's values of one kind, and their size, over several runs."""

    plugin: str
    kind: str
    tags: int
    values: int
    size: int


def list_plugins(log: RunLog) -> list[PluginLine]:
    """Return the tags of a run that belong to plugins that Runfold does not support."""
    unknown = log.unknown
    lines = [
        PluginLine(tag, plugin, UNKNOWN, values, size)
        for (plugin, tag), (values, size) in unknown.items()
    ]
    for (kind, tag), payloads in log.payloads.items():
        if kind == TENSOR and (plugin := log.foreign_plugin(tag)):
            # Decoding can reveal that only the plugin can read some of these values.
            values, size = unknown.get((plugin, tag), (0, 0))
            values, size = len(payloads) - values, int(payloads.items["length"].sum()) - size
            if values > 0:
                lines.append(PluginLine(tag, plugin, kind, values, size))
    return lines


def total_plugins(lines: Iterable[PluginLine]) -> list[PluginTotal]:
    """Return one total per plugin and kind, in the order of the lines."""
    groups: dict[tuple[str, str], list[PluginLine]] = {}
    for line in lines:
        groups.setdefault((line.plugin, line.kind), []).append(line)
    return [
        PluginTotal(
            plugin,
            kind,
            len({line.tag for line in group}),
            sum(line.values for line in group),
            sum(line.size for line in group),
        )
        for (plugin, kind), group in groups.items()
    ]


def describe_plugins(lines: Iterable[PluginLine]) -> list[str]:
    """Return up to two sentences: one on values that were not decoded, and one on tensors."""
    totals = total_plugins(lines)
    sentences = []
    for kind, beginning in _SENTENCES.items():
        if found := [total for total in totals if total.kind == kind]:
            count = human_count(sum(total.values for total in found), "value")
            size = human_bytes(sum(total.size for total in found))
            plugins = human_list([total.plugin for total in found])
            sentences.append(
                f"{beginning}: {count}, {size}, from plugins that Runfold does not support:"
                f" {plugins}."
            )
    return sentences


def name_kind(kind: str, plugin: str, size: int) -> str:
    """Return a kind with the plugin and the size: `tensor (my_plugin, 5.1 kB)`."""
    return f"{kind} ({plugin}, {human_bytes(size)})" if plugin else kind
