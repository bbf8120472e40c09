"""Encoders for the data of TensorBoard's own plugins: hparams and custom scalar layouts."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from runfold._events.kinds import hparams
from runfold._events.message import (
    put_bytes,
    put_double,
    put_integer,
    put_message,
    put_texts,
    put_varint,
)

if TYPE_CHECKING:
    from runfold._events.kinds.hparams import Experiment, HParam, Metric
    from runfold._events.kinds.layout import Category, Chart, Layout

STATUSES = {"unknown": 0} | {name: number for number, name in hparams.STATUSES.items()}
HPARAM_TYPES = {None: 0} | {name: number for number, name in hparams.TYPES.items()}
DATASETS = {None: 0} | {name: number for number, name in hparams.DATASETS.items()}


def experiment(plan: Experiment) -> bytes:
    """Return an `HParamsPluginData` with an experiment's hparams and metrics."""
    content = put_bytes(1, plan.description.encode()) + put_bytes(2, plan.user.encode())
    content += put_double(3, plan.time_created)
    content += b"".join(put_message(4, _hparam(info)) for info in plan.hparams)
    content += b"".join(put_message(5, _metric(info)) for info in plan.metrics)
    content += put_bytes(6, plan.name.encode())
    return put_message(2, content)


def session_start(
    settings: Mapping[str, bool | float | str | None], start_time: float, group_name: str
) -> bytes:
    """Return an `HParamsPluginData` with a run's hparams."""
    entries = b"".join(
        put_message(1, put_message(1, name.encode()) + put_message(2, _setting(value)))
        for name, value in settings.items()
    )
    return put_message(3, entries + put_bytes(4, group_name.encode()) + put_double(5, start_time))


def session_end(status: str, end_time: float) -> bytes:
    """Return an `HParamsPluginData` with a session's status and end time."""
    return put_message(4, put_integer(1, STATUSES[status]) + put_double(2, end_time))


def layout(page: Layout) -> bytes:
    """Return a `Layout` of the custom scalars page."""
    return b"".join(put_message(2, _category(category)) for category in page.categories)


def _setting(value: object) -> bytes:
    """Return a `google.protobuf.Value`; zero, False and the empty string are written explicitly."""
    if isinstance(value, bool | np.bool_):
        return put_varint(4 << 3) + put_varint(bool(value))
    if value is None:
        return put_varint(1 << 3) + put_varint(0)
    if isinstance(value, str):
        return put_message(3, value.encode())
    if isinstance(value, int | float | np.number):
        return put_varint(2 << 3 | 1) + struct.pack("<d", value)
    raise TypeError(f"an hparam must be a bool, number, str or None, not {type(value).__name__}")


def _hparam(info: HParam) -> bytes:
    content = put_texts((info.name, info.display_name, info.description))
    content += put_integer(4, HPARAM_TYPES[info.type])
    if isinstance(info.domain, hparams.Interval):
        bounds = put_double(1, info.domain.min) + put_double(2, info.domain.max)
        return content + put_message(6, bounds)
    if info.domain is None:
        return content
    values = b"".join(put_message(1, _setting(value)) for value in info.domain)
    return content + put_message(5, values)


def _metric(info: Metric) -> bytes:
    content = put_message(1, put_texts((info.group, info.tag)))
    content += put_bytes(3, info.display_name.encode()) + put_bytes(4, info.description.encode())
    return content + put_integer(5, DATASETS[info.dataset])


def _category(category: Category) -> bytes:
    charts = b"".join(put_message(2, _chart(chart)) for chart in category.charts)
    return put_bytes(1, category.title.encode()) + charts + put_integer(3, category.closed)


def _chart(chart: Chart) -> bytes:
    title = put_bytes(1, chart.title.encode())
    if chart.margins:
        tags = ((margin.value, margin.lower, margin.upper) for margin in chart.margins)
        return title + put_message(3, b"".join(put_message(1, put_texts(each)) for each in tags))
    return title + put_message(2, b"".join(put_message(1, tag.encode()) for tag in chart.tags))
