"""Short, distinct labels for many names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runfold._humanize import cell_width, escape

# A number such as 1e-3, a word such as `seed` or `v1.2`, or any other character.
_TOKEN = re.compile(
    r"[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+(?![^\W_])|[^\W_]+(?:\.[^\W_]+)*|.", re.DOTALL
)
_MARKS = re.compile("…+")
# Tokens beyond this number are joined into one, because comparing is quadratic.
_MOST_TOKENS = 100
# Names are shown in full. This limit only stops a malicious name from exhausting memory.
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels for many names.

    Attributes:
        folder: the common folder that the labels omit, such as `sweep/`; empty if they omit
            none.
        shown: the label of each name, in the order of the names.
    """

    folder: str
    shown: dict[str, str]

    @property
    def width(self) -> int:
        """The number of terminal columns that the widest label occupies."""
        return max(map(cell_width, self.shown.values()), default=0)


def label_names(names: Iterable[str], width: int | None, drop_folder: bool = True) -> Labels:
    """Return a label for each name: distinct, and at most `width` columns wide if possible.

    Names that fit are unchanged. Otherwise the common folder is dropped first, unless
    `drop_folder` is off, and then words that all names share: `large_batch_lr_0.1` and
    `large_batch_lr_0.2` become `…_lr_0.1` and `…_lr_0.2`. Words that differ are always
    kept, so a label can be wider than `width`.

    Every label is escaped to one line. With None as `width`, names are shown in full.
    The labels do not depend on the order of the names.
    """
    whole = _escape_all(dict.fromkeys(names))
    labels = Labels("", whole)
    if width is None or labels.width <= width:
        return labels
    if drop_folder and (folder := _common_folder(list(whole.values()))):
        labels = Labels(folder, {name: text[len(folder) :] for name, text in whole.items()})
    if labels.width <= width:
        return labels
    short = Labels(labels.folder, _shorten_common(labels.shown, labels.width - width))
    # Shortening names that fit does not help if others are too long anyway.
    fits = width if short.width > width else 0
    shown = {
        # `base` next to `base/lr-0.1` consists only of common words.
        name: label if cell_width(text) > fits and any(map(str.isalnum, label)) else text
        for (name, text), label in zip(labels.shown.items(), short.shown.values(), strict=True)
    }
    return Labels(labels.folder, _undo_collisions(shown, labels.shown))


def _escape_all(names: Iterable[str]) -> dict[str, str]:
    shown = {name: escape(name, _LONGEST) for name in names}
    if len(set(shown.values())) == len(shown):
        return shown
    # A line break and a typed `\n` look alike when escaped.
    return {name: ascii(name)[1:-1] for name in shown}


def _common_folder(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    size = next(
        (index for index, (a, b) in enumerate(zip(first, last, strict=False)) if a != b),
        min(len(first), len(last)),
    )
    # A single name keeps its last part.
    return first[: first.rfind("/", 0, min(size, len(first) - 1)) + 1]


def _shorten_common(names: dict[str, str], excess: int) -> dict[str, str]:
    """Return the names, shortened by `excess` columns in the parts that all of them share."""
    split = {name: _split(text) for name, text in names.items()}
    common = _common_tokens(sorted(split.values()))
    positions = {name: _find(common, tokens) for name, tokens in split.items()}
    parts = [slice(*ends) for ends in pairwise(_boundaries(common, positions.values()))]
    texts = _shorten_parts([common[part] for part in parts], excess)
    shown = {}
    for name, tokens in split.items():
        for part, text in zip(parts, texts, strict=True):
            first, *others = positions[name][part]
            tokens[first] = text
            for position in others:
                tokens[position] = ""
        shown[name] = _MARKS.sub("…", "".join(tokens))
    return shown


def _shorten_parts(parts: Sequence[list[str]], excess: int) -> list[str]:
    """Return parts that are `excess` columns shorter in total, shortening the longest first.

    A part loses whole tokens from its start. The last word is kept as long as shortening
    other parts is enough: `large_model_lr_` becomes `…_lr_`, and then `…`.
    """
    order = sorted(range(len(parts)), key=lambda number: -cell_width("".join(parts[number])))
    texts = ["".join(part) for part in parts]
    for least in (3, 0):
        for number in order:
            part = parts[number]
            # Keep the levels of a path visible.
            minimum = max(least, part[-1] == "/")
            for start in range(1, len(part) + 1 - minimum):
                end = "…" + "".join(part[start:])
                if excess > 0 and cell_width(end) < cell_width(texts[number]):
                    excess -= cell_width(texts[number]) - cell_width(end)
                    texts[number] = end
    return texts


def _split(text: str) -> list[str]:
    tokens = _TOKEN.findall(text)
    if len(tokens) > _MOST_TOKENS:
        tokens[_MOST_TOKENS:] = ["".join(tokens[_MOST_TOKENS:])]
    return tokens


def _common_tokens(names: Sequence[list[str]]) -> list[str]:
    """Return a common subsequence of all names' tokens, with as many letters as possible."""
    common = names[0]
    for tokens in names:
        if len(_find(common, tokens)) < len(common):
            common = _longest_common(common, tokens)
    return common


def _find(common: Sequence[str], tokens: Sequence[str]) -> list[int]:
    """Return the positions of the common tokens, up to the first one that is missing."""
    positions: list[int] = []
    for position, token in enumerate(tokens):
        if len(positions) < len(common) and token == common[len(positions)]:
            positions.append(position)
    return positions


def _longest_common(a: Sequence[str], b: Sequence[str]) -> list[str]:
    # The longest common subsequence, with tokens weighted by their length.
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = (
                best[i + 1][j + 1] + len(a[i])
                if a[i] == b[j]
                else max(best[i + 1][j], best[i][j + 1])
            )
    common, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            common.append(a[i])
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return common


def _boundaries(common: Sequence[str], positions: Iterable[list[int]]) -> list[int]:
    """Return the boundaries of parts of the common tokens that are contiguous in every name.

    A part ends after a path separator, so that the levels of the names stay visible.
    """
    ends = {0, len(common)}
    ends.update(index + 1 for index, token in enumerate(common) if token == "/")
    for name in positions:
        ends.update(index + 1 for index, (a, b) in enumerate(pairwise(name)) if b != a + 1)
    return sorted(ends)


def _undo_collisions(shown: dict[str, str], whole: dict[str, str]) -> dict[str, str]:
    """Return the labels, with the full name for each label that is not unique."""
    while True:
        counts = Counter(shown.values())
        if len(counts) == len(shown):
            return shown
        shown = {
            name: label if counts[label] == 1 else whole[name] for name, label in shown.items()
        }
