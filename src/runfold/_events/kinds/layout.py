"""Layouts of the custom scalars page: which charts it has, and what they show."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._events.kinds import stored_value

if TYPE_CHECKING:
    from tensorboard.plugins.custom_scalar import layout_pb2


@dataclass(frozen=True, slots=True)
class Margin:
    """A curve between two others: the tags of the three."""

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
    """A group of charts, shown folded when `closed`."""

    title: str
    closed: bool
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The page: its categories in order."""

    categories: tuple[Category, ...]


def decode(value: bytes) -> Layout:
    """Give the layout that the value's string tensor carries."""
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
