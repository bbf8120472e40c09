"""The charts that a writer asks for on TensorBoard's custom scalars page, in one layout.

TensorBoard shows the last layout of a run, so each one that is written has all charts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from runfold.errors import CannotLog
from runfold.events.kinds.layout import Category, Chart, Layout, Margin
from runfold.log.arrays import as_tag, refuse

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

UNTITLED = "untitled"

# TensorBoard sends the expressions of a chart in an address, which must not grow
# without end: beyond so many lines, one expression stands for all below the main tag.
_MOST_LINES = 50


class Charts:
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


def read_layout(layout: Any) -> dict[str, list[Chart]]:
    """Charts by category, of `{category: {title: [kind, tags]}}` as torch takes it.

    Raises CannotLog, which names the category and the title.
    """
    return {
        as_tag(category, "layout"): [
            read_chart(as_tag(title, "layout"), content, f"{category}/{title}")
            for title, content in _items(charts, "layout", str(category))
        ]
        for category, charts in _items(layout, "layout", "custom_scalars")
    }


def read_chart(title: str, content: Any, place: str, argument: str = "layout") -> Chart:
    """The chart that `[kind, tags]` means. Raises CannotLog, which names the place."""
    try:
        kind, tags = content
        tags = () if isinstance(tags, str) else tuple(tags)
    except (TypeError, ValueError):
        reason = "[kind, tags] is meant, such as ['Multiline', ['loss/train', 'loss/val']]"
        raise CannotLog(refuse(place, argument, content, reason)) from None
    if not tags or not all(isinstance(tag, str) for tag in tags):
        raise CannotLog(refuse(place, argument, content, "its tags are a list of str"))
    for tag in tags:
        as_tag(tag, argument)
    name = kind.lower() if isinstance(kind, str) else ""
    if name not in ("multiline", "margin"):
        raise CannotLog(refuse(place, argument, content, "its kind is 'Multiline' or 'Margin'"))
    if name == "multiline":
        return Chart(title, tags, ())
    if len(tags) != 3:
        reason = f"a margin has 3 tags (value, lower, upper), not {len(tags)}"
        raise CannotLog(refuse(place, argument, content, reason))
    return Chart(title, (), (Margin(*tags),))


def _expressions(main_tag: str, lines: Mapping[str, str]) -> tuple[str, ...]:
    """What finds the lines and nothing else; TensorBoard matches from the start of a tag."""
    if len(lines) > _MOST_LINES:
        return (re.escape(f"{main_tag}/"),)
    return tuple(f"{re.escape(tag)}$" for tag in lines.values())


def _items(value: Any, argument: str, place: str) -> Iterator[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        reason = "{category: {title: [kind, tags]}} is meant"
        raise CannotLog(refuse(place, argument, value, reason))
    yield from value.items()
