"""Values that name other tags: layouts of the custom scalars page, and hparams metrics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runfold._conventions import CUSTOM_SCALARS_TAG, HPARAMS_EXPERIMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

REFERRING = frozenset({CUSTOM_SCALARS_TAG, HPARAMS_EXPERIMENT})


def rename_references(message: bytes, renamed: Mapping[str, str]) -> bytes:
    """Return a serialized value in which the tags that it names are renamed.

    A line of a layout is a regular expression; it is changed only if it is exactly
    a tag, escaped or not. A value that cannot be decoded, or names no renamed tag,
    is returned unchanged.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.summary_pb2 import Summary

    try:
        value = Summary.Value.FromString(message)
        if value.tag == CUSTOM_SCALARS_TAG:
            has_changed = _rename_in_layout(value, renamed)
        else:
            has_changed = _rename_in_experiment(value, renamed)
    except DecodeError:
        return message
    result: bytes = value.SerializeToString() if has_changed else message
    return result


def _rename_in_layout(value: object, renamed: Mapping[str, str]) -> bool:
    from tensorboard.plugins.custom_scalar import layout_pb2

    strings = value.tensor.string_val  # type: ignore[attr-defined]
    if len(strings) != 1:
        return False
    layout = layout_pb2.Layout.FromString(strings[0])
    escaped = {re.escape(old): re.escape(new) for old, new in renamed.items()}
    has_changed = False
    for category in layout.category:
        for chart in category.chart:
            for number, tag in enumerate(chart.multiline.tag):
                new = renamed.get(tag) or escaped.get(tag)
                if new is not None:
                    chart.multiline.tag[number] = new
                    has_changed = True
            for series in chart.margin.series:
                for part in ("value", "lower", "upper"):
                    new = renamed.get(getattr(series, part))
                    if new is not None:
                        setattr(series, part, new)
                        has_changed = True
    if has_changed:
        strings[0] = layout.SerializeToString()
    return has_changed


def _rename_in_experiment(value: object, renamed: Mapping[str, str]) -> bool:
    from tensorboard.plugins.hparams import plugin_data_pb2

    plugin = value.metadata.plugin_data  # type: ignore[attr-defined]
    data = plugin_data_pb2.HParamsPluginData.FromString(plugin.content)
    has_changed = False
    if data.WhichOneof("data") == "experiment":
        for metric in data.experiment.metric_infos:
            new = renamed.get(metric.name.tag)
            if new is not None:
                metric.name.tag = new
                has_changed = True
    if has_changed:
        plugin.content = data.SerializeToString()
    return has_changed
