"""Layouts of the custom scalars page: its charts and the tags they show."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._events.kinds import stored_value

if TYPE_CHECKING:
    from tensorboard.plugins.custom_scalar import layout_pb2


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin series: the tags of a curve and of its lower and upper bounds."""

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: regular expressions for the tags of its lines, or its margin series."""

    title: str
    tags: tuple[str, ...]
    margins: tuple[Margin, ...]


@dataclass(frozen=True, slots=True)
class Category:
    """A group of charts, collapsed if `closed`."""

    title: str
    closed: bool
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The custom scalars page: its categories in order."""

    categories: tuple[Category, ...]


def decode(value: bytes) -> Layout:
    """Return the layout in the value's string tensor."""
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.custom_scalar import layout_pb2

    raw = stored_value.string_of(stored_value.parse(value), "a layout")
    try:
        layout = layout_pb2.Layout.FromString(raw)
    except DecodeError:
        raise ValueError("the layout is not a Layout message") from None
    return Layout(
        tuple(
            Category(category.title, category.closed, tuple(map(_chart, category.chart)))
            for category in layout.category
        )
    )


def _chart(chart: "layout_pb2.Chart") -> Chart:
    margins = tuple(
        Margin(series.value, series.lower, series.upper) for series in chart.margin.series
    )
    return Chart(chart.title, tuple(chart.multiline.tag), margins)
