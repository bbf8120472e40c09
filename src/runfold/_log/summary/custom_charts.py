"""The charts of a writer on TensorBoard's custom scalars page.

TensorBoard shows only the last layout of a run, so every layout contains all charts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from runfold._events import value_encoding
from runfold._events.kinds.layout import Category, Chart, Layout, Margin
from runfold._log.writer.convert import as_tag, refuse, warn_about
from runfold._log.writer.life import Part
from runfold.errors import BadTag, CannotLog

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from runfold._log.writer.sink import Sink

UNTITLED = "untitled"

# TensorBoard sends a chart's expressions in a URL, so their number must be limited: above this
# many lines, one expression matches everything below the main tag.
_MOST_LINES = 50


class Charts(Part):
    """The charts added so far. Not thread-safe: the writer holds a lock."""

    def __init__(self) -> None:
        self.is_new = False
        self._categories: dict[str, dict[Hashable, Chart]] = {}
        self._groups: dict[str, dict[str, str]] = {}

    def lines(self, main_tag: str) -> Mapping[str, str]:
        """Return the tags in the chart for a main tag, by key."""
        return self._groups.get(main_tag, {})

    def draw(self, main_tag: str, lines: Mapping[str, str]) -> None:
        """Add tags, by key, to the chart for a main tag; the chart is created if needed."""
        group = self._groups.setdefault(main_tag, {})
        before = _expressions(main_tag, group)
        group.update(lines)
        self.is_new |= _expressions(main_tag, group) != before

    def add(self, new_charts: Mapping[str, Iterable[Chart]]) -> None:
        """Add charts by category; a chart with the same category and title is replaced."""
        for category, charts in new_charts.items():
            if category not in self._categories:
                self._categories[category] = {}
                self.is_new = True
            known = self._categories[category]
            for chart in charts:
                # Two charts without a title are different charts, unless they are equal.
                key = chart if chart.title == UNTITLED else chart.title
                self.is_new |= known.get(key) != chart
                known[key] = chart

    def flush(self, sink: Sink) -> None:
        """Add the layout if charts have changed since the last flush.

        A program that logs a thousand main tags in its first step writes a single layout.
        """
        if self.is_new:
            message = value_encoding.layout(self.take())
            # At step 0, only a restart marker that discards everything can hide the layout.
            sink.put("value", message, 0, sink.checks.time(None))

    def take(self) -> Layout:
        """Return the layout of all charts, and mark it as written.

        The chart of a main tag is in the same category as on TensorBoard's scalars page: the
        first part of the tag. A chart added with that category and title takes precedence.
        """
        self.is_new = False
        categories = {title: list(charts.values()) for title, charts in self._categories.items()}
        for main_tag, lines in self._groups.items():
            category = main_tag.partition("/")[0]
            if main_tag not in self._categories.get(category, {}):
                chart = Chart(main_tag, _expressions(main_tag, lines), ())
                categories.setdefault(category, []).append(chart)
        return Layout(
            tuple(Category(title, False, tuple(charts)) for title, charts in categories.items())
        )


def read_layout(layout: Any, argument: str = "layout") -> dict[str, list[Chart]]:
    """Return charts by category from `{category: {title: [kind, tags]}}`, as in torch.

    Raises CannotLog for invalid input; the message names the category and the title.
    """
    return {
        _as_name(category, argument): [
            _read_chart(_as_name(title, argument), content, f"{category}/{title}", argument)
            for title, content in _items(charts, argument, str(category))
        ]
        for category, charts in _items(layout, argument, "custom_scalars")
    }


def _read_chart(title: str, content: Any, chart_name: str, argument: str) -> Chart:
    """Return the chart described by `[kind, tags]`. Raises CannotLog, naming the chart."""
    try:
        kind = content[0].lower() if isinstance(content[0], str) else content[0]
        nothing = "" if kind == "margin" else None  # a margin can have only one bound
        tags = tuple(
            as_tag(nothing if tag is None else tag, argument) for tag in _as_list(content[1])
        )
    except (TypeError, LookupError):
        reason = "expected [kind, tags], such as ['Multiline', ['loss/train', 'loss/val']]"
        raise CannotLog(refuse(chart_name, argument, content, reason)) from None
    if kind == "margin":
        if len(tags) != 3:
            reason = f"expected 3 tags (value, lower, upper) for a margin, got {len(tags)}"
            raise CannotLog(refuse(chart_name, argument, content, reason))
        return Chart(title, (), (Margin(*tags),))
    if kind != "multiline":
        # torch draws lines for any other kind, without a warning.
        warn_about(
            chart_name, argument, f"has the unknown kind {kind!r} and is drawn as 'Multiline'"
        )
    return Chart(title, tags, ())


def _as_list(tags: Any) -> Iterable[Any]:
    """Return the tags of a chart; a str is one tag, and None means no tags."""
    if tags is None:
        return ()
    return (tags,) if isinstance(tags, str | bytes) else iter(tags)


def _as_name(given: Any, argument: str) -> str:
    """Return a title or tag; None becomes "", as in protobuf. Raises CannotLog for a non-string."""
    if given is None:
        return ""
    try:
        return as_tag(given, argument)
    except BadTag as error:  # BadTag ignores on_error, but this is not a call's tag
        raise CannotLog(str(error)) from None


def _expressions(main_tag: str, lines: Mapping[str, str]) -> tuple[str, ...]:
    """Return expressions that match only these tags; TensorBoard anchors them at the start."""
    if len(lines) > _MOST_LINES:
        return (re.escape(f"{main_tag}/"),)
    return tuple(f"{re.escape(tag)}$" for tag in lines.values())


def _items(value: Any, argument: str, chart_name: str) -> Iterator[tuple[Any, Any]]:
    if not hasattr(value, "items"):
        reason = "expected {category: {title: [kind, tags]}}"
        raise CannotLog(refuse(chart_name, argument, value, reason))
    yield from value.items()
