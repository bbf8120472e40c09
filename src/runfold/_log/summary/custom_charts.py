"""The charts that a writer asks for on TensorBoard's custom scalars page, in one layout.

TensorBoard shows the last layout of a run, so each one that is written has all charts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from runfold._events import value_encoding
from runfold._events.kinds.layout import Category, Chart, Layout, Margin
from runfold._log.writer.convert import as_tag, refuse, tell
from runfold._log.writer.life import Part
from runfold.errors import BadTag, CannotLog

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from runfold._log.writer.sink import Sink

UNTITLED = "untitled"

# TensorBoard sends the expressions of a chart in an address, which must not grow
# without end: beyond so many lines, one expression stands for all below the main tag.
_MOST_LINES = 50


class Charts(Part):
    """The charts so far. Used by one thread at a time: its writer holds a lock."""

    def __init__(self) -> None:
        self.is_new = False
        self._categories: dict[str, dict[Hashable, Chart]] = {}
        self._groups: dict[str, dict[str, str]] = {}

    def lines(self, main_tag: str) -> Mapping[str, str]:
        """The tags on the chart of a main tag, by their keys."""
        return self._groups.get(main_tag, {})

    def draw(self, main_tag: str, lines: Mapping[str, str]) -> None:
        """Put tags on the chart of a main tag, by their keys; it is made if need be."""
        group = self._groups.setdefault(main_tag, {})
        before = _expressions(main_tag, group)
        group.update(lines)
        self.is_new |= _expressions(main_tag, group) != before

    def add(self, asked: Mapping[str, Iterable[Chart]]) -> None:
        """Add charts by category; one of the same category and title is replaced."""
        for category, charts in asked.items():
            if category not in self._categories:
                self._categories[category] = {}
                self.is_new = True
            known = self._categories[category]
            for chart in charts:
                # Two that were given no title are two charts, unless they are the same.
                key = chart if chart.title == UNTITLED else chart.title
                self.is_new |= known.get(key) != chart
                known[key] = chart

    def flush(self, sink: Sink) -> None:
        """Add the layout, if charts came since the last time.

        So a program that logs a thousand main tags at its first step writes one
        layout, and not a thousand.
        """
        if self.is_new:
            message = value_encoding.layout(self.take())
            # No restart marker hides what stands at step 0, but one that voids all.
            sink.put("value", message, 0, sink.checks.time(None))

    def take(self) -> Layout:
        """The layout of all charts, which is new no longer.

        The chart of a main tag stands where TensorBoard's scalars page has it: in
        the category of its first part. A chart asked for by that name comes before it.
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
    """Return charts by category from `{category: {title: [kind, tags]}}`, as torch accepts it.

    Raises CannotLog, which names the category and the title.
    """
    return {
        _as_name(category, argument): [
            _read_chart(_as_name(title, argument), content, f"{category}/{title}", argument)
            for title, content in _items(charts, argument, str(category))
        ]
        for category, charts in _items(layout, argument, "custom_scalars")
    }


def _read_chart(title: str, content: Any, place: str, argument: str) -> Chart:
    """Return the chart that `[kind, tags]` describes. Raises CannotLog, which names the place."""
    try:
        kind = content[0].lower() if isinstance(content[0], str) else content[0]
        nothing = "" if kind == "margin" else None  # a margin may have one bound only
        tags = tuple(
            as_tag(nothing if tag is None else tag, argument) for tag in _as_list(content[1])
        )
    except (TypeError, LookupError):
        reason = "expected [kind, tags], such as ['Multiline', ['loss/train', 'loss/val']]"
        raise CannotLog(refuse(place, argument, content, reason)) from None
    if kind == "margin":
        if len(tags) != 3:
            reason = f"a margin has 3 tags (value, lower, upper), not {len(tags)}"
            raise CannotLog(refuse(place, argument, content, reason))
        return Chart(title, (), (Margin(*tags),))
    if kind != "multiline":
        # torch draws lines for any other kind, without a warning.
        tell(place, argument, f"has the unknown kind {kind!r} and is drawn as 'Multiline'")
    return Chart(title, tags, ())


def _as_list(tags: Any) -> Iterable[Any]:
    """Return the tags of a chart one by one; a str is one tag, and None is no tag."""
    if tags is None:
        return ()
    return (tags,) if isinstance(tags, str | bytes) else iter(tags)


def _as_name(given: Any, argument: str) -> str:
    """Return a title or tag; None is empty, as protobuf has it. Raises CannotLog."""
    if given is None:
        return ""
    try:
        return as_tag(given, argument)
    except BadTag as error:  # which no writer survives, and this is not the tag of a call
        raise CannotLog(str(error)) from None


def _expressions(main_tag: str, lines: Mapping[str, str]) -> tuple[str, ...]:
    """What finds the lines and nothing else; TensorBoard matches from the start of a tag."""
    if len(lines) > _MOST_LINES:
        return (re.escape(f"{main_tag}/"),)
    return tuple(f"{re.escape(tag)}$" for tag in lines.values())


def _items(value: Any, argument: str, place: str) -> Iterator[tuple[Any, Any]]:
    if not hasattr(value, "items"):
        reason = "expected {category: {title: [kind, tags]}}"
        raise CannotLog(refuse(place, argument, value, reason))
    yield from value.items()
