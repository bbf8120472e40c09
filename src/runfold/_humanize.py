"""Names and quantities for people: escaping, sorting, suggestions and rounding."""

import heapq
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_DIGITS = re.compile(r"([0-9]+)")
_BREAK = re.compile(r"[/_,= -](?=.)")
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# Longer names were not typed by hand, and comparing them is slow.
_LONGEST_TYPED = 300
# The number of candidates that get the slow, careful comparison.
_SHORTLIST = 200


def escape(text: str, limit: int = 200) -> str:
    """Return text that is safe to show on one line, with at most about `limit` characters.

    Control characters, direction overrides, NUL and lone surrogates become
    visible escapes, so that a tag can neither move the cursor nor imitate
    another tag. Long text loses its middle and shows its length:
    `aaaa…zzzz (1,048,576 characters)`.
    """
    if len(text) <= limit:
        shown = text if text.isprintable() else "".join(map(_visible, text))
        if len(shown) <= limit:
            return shown
    tail_budget = limit // 3
    head = "".join(_fit(text[:limit], limit - tail_budget))
    tail = "".join(reversed(list(_fit(text[: -limit - 1 : -1], tail_budget))))
    return f"{head}…{tail} ({len(text):,} characters)"


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    if 0xDC80 <= code <= 0xDCFF:  # a byte from a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _fit(chars: str, budget: int) -> Iterator[str]:
    for char in chars:
        shown = _visible(char)
        budget -= len(shown)
        if budget < 0:
            return
        yield shown


def cell_width(text: str) -> int:
    """Return the width of text in columns: two per wide character, none per combining mark."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shorten(text: str, size: int) -> str:
    """Return the text without its middle, at most `size` columns wide.

    More of the end is kept, because names such as `sweep-3/lr-0.1/seed-7` differ there.
    Two strings can become the same; `runfold._labels` keeps names distinct.
    """
    if cell_width(text) <= size:
        return text
    if size < 2:
        return "…"[:size]
    head, tail = _take(text, (size - 1) // 3), _take(text[::-1], size - 1 - (size - 1) // 3)
    return f"{head}…{tail[::-1]}"


def _take(text: str, size: int) -> str:
    used = 0
    for number, char in enumerate(text):
        used += cell_width(char)
        if used > size:
            return text[:number]
    return text


def wrap(text: str, size: int) -> list[str]:
    """Return the text in lines of at most `size` columns, broken after a separator if possible.

    Lines after the first are indented by two spaces, if there is room.
    """
    lines: list[str] = []
    indent = ""
    while cell_width(text) > size - len(indent):
        # At least one character per line, even if a wide character does not fit.
        line = _take(text, size - len(indent)) or text[0]
        if breaks := list(_BREAK.finditer(line)):
            line = line[: breaks[-1].end()]
        lines.append(indent + line)
        text = text[len(line) :]
        indent = "  " if size > 3 else ""
    return [*lines, indent + text] if text or not lines else lines


def utf8(text: str) -> str:
    """Return text that can be stored: lone surrogates, as in file names, become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def free_name(name: str, is_taken: Callable[[str], bool], form: str = "{}-{}") -> str:
    """Return the name, or the first of `name-2`, `name-3` and so on that is not taken.

    `form` joins the name and the number.
    """
    free, number = name, 2
    while is_taken(free):
        free = form.format(name, number)
        number += 1
    return free


def file_order(path: str) -> tuple[list[str | int], str]:
    """Return a sort key that orders a run's event files by start time.

    Their names end in time, host, process and a counter without leading zeros: within
    the same second, `.9` comes before `.10`.
    """
    parts: list[str | int] = list(_DIGITS.split(path))
    parts[1::2] = map(int, parts[1::2])
    return parts, path


def natural_key(name: str) -> tuple[list[str | float], str]:
    """Return a sort key that orders names as TensorBoard's page does.

    Numbers sort by value, including `0.01` and `1e-3`, and a path separator or an
    underscore sorts before any letter: `seed-2` < `seed-10`, `a/b` < `a+/b`.
    """
    # The split alternates between text and numbers, so only values of the same type are compared.
    breaks_first = name.replace("/", "\0").replace("\\", "\0").replace("_", "\0")
    parts: list[str | float] = list(_NUMBER.split(breaks_first))
    parts[1::2] = map(float, parts[1::2])
    return parts, name


def near(name: str, candidates: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` candidates similar to `name`, best first.

    Different case and a missing folder (`loss` for `train/loss`) count as similar. This is
    fast enough for the suggestions in an error message, even with 100,000 candidates:
    letter pairs select a shortlist, and only the shortlist is compared carefully.
    """
    if not name or len(name) > _LONGEST_TYPED:
        return []
    folded = name.casefold()
    pairs = _pairs(folded)
    scored: list[tuple[float, str]] = []
    for candidate in candidates:
        if len(candidate) > _LONGEST_TYPED:
            continue
        other = candidate.casefold()
        common = len(pairs & _pairs(other))
        if common:
            scored.append((common / (len(folded) + len(other)), candidate))
    shortlist = heapq.nlargest(_SHORTLIST, scored)
    ranked = sorted(
        ((_likeness(folded, candidate.casefold()), candidate) for _, candidate in shortlist),
        key=lambda pair: (-pair[0], natural_key(pair[1])),
    )
    return [candidate for likeness, candidate in ranked if likeness >= 0.6][:n]


def _pairs(text: str) -> set[str]:
    # The markers at both ends give one-letter names pairs, and make common prefixes count more.
    return set(map("".join, zip("^" + text, text + "$", strict=True)))


def _likeness(name: str, candidate: str) -> float:
    from difflib import SequenceMatcher

    if name == candidate:
        return 2.0
    if candidate.endswith("/" + name) or candidate.startswith(name + "/"):
        return 1.0
    ratio = SequenceMatcher(None, candidate, name, autojunk=False).ratio()
    # A typo and a missing folder together: `los` for `train/loss`.
    last = candidate.rpartition("/")[2]
    return max(ratio, 0.9 * SequenceMatcher(None, last, name, autojunk=False).ratio())


def did_you_mean(
    name: str, candidates: Iterable[str], show: Callable[[str], str] | None = None
) -> str:
    """Return `Did you mean 'loss'?`, or an empty string if nothing is similar.

    `show` returns the text for a candidate. Default: the candidate in quotes.
    """
    quoted = [
        show(candidate) if show else f"'{escape(candidate)}'"
        for candidate in near(name, candidates)
    ]
    if not quoted:
        return ""
    *others, last = quoted
    return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"


def not_one_of(option: str, value: object, known: Collection[str]) -> str:
    """Return `align must be one of 'strict', 'union', not 'unoin'. Did you mean 'union'?`."""
    choices = ", ".join(map(repr, known))
    hint = did_you_mean(str(value), known)
    return f"{option} must be one of {choices}, not {escape(repr(value))}. {hint}".rstrip()


def show_value(value: object) -> str:
    """Return a value as people write it: 48.0 as `48`, True as `true`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value)


def human_bytes(count: int) -> str:
    """Return a size such as `812 B`, `4.1 kB` or `2.3 GB` (powers of 1,000)."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5:
            return f"{size:.1f} {unit}" if size < 99.95 else f"{size:.0f} {unit}"
    return f"{size / 1000:,.1f} PB"


def read_size(size: int | str) -> int:
    """Return a size in bytes, from a number of bytes or text such as `500MB` or `1.5 GB`.

    Raises ValueError for anything else, and for 0.
    """
    if isinstance(size, str):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]b|b?)", size.strip().lower())
        count = int(float(match[1]) * _BYTES[match[2]]) if match else 0
    else:
        count = 0 if isinstance(size, bool) or not isinstance(size, int) else size
    if count < 1:
        raise ValueError(f"expected a size such as 500MB, got {escape(repr(size))}")
    return count


def human_duration(seconds: float) -> str:
    """Return a duration in its two largest units: `0.3 s`, `2 min 5 s`, `3 d 4 h`.

    Returns `unknown` for NaN and infinity, which can occur as wall times in a log.
    """
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 0:
        return "-" + human_duration(-seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    left = round(seconds)
    shown: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        amount, left = divmod(left, size)
        if amount or shown:
            shown.append(f"{amount:,} {unit}" if amount else "")
        if len(shown) == 2:
            break
    return " ".join(filter(None, shown))


def human_count(count: int, noun: str = "") -> str:
    """Return an exact count, such as `12,345` or, with a noun, `1 run` or `3 runs`."""
    if not noun:
        return f"{count:,}"
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def human_list(names: Iterable[str], limit: int = 5) -> str:
    """Return escaped names, `a, b, c`, or the first of many names: `a, b and 7 more`."""
    names = list(names)
    shown = ", ".join(map(escape, names[:limit]))
    left = len(names) - limit
    return f"{shown} and {left:,} more" if left > 0 else shown


def human_span(steps: tuple[int, int] | None) -> str:
    """Return the first and last step as `0..1200`, a single step as `0`, and "" for None."""
    if steps is None:
        return ""
    return f"{steps[0]}..{steps[1]}" if steps[0] < steps[1] else str(steps[0])
