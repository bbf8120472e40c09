"""New names for tags and runs: by exact name, by a glob or by a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from runfold._humanize import did_you_mean, escape
from runfold._select import is_glob
from runfold.errors import CannotEdit, UnknownRun, UnknownTag

Renames = Mapping[str, str] | str | Iterable[str | tuple[str, str]]

# As in sed, a backslash escapes a separator in the pattern or in the new name.
_PATTERN = re.compile(
    r"s(?P<sign>[^\w\s\\])(?P<old>(?:\\.|(?!(?P=sign))[^\\])*)(?P=sign)"
    r"(?P<new>(?:\\.|(?!(?P=sign))[^\\])*)(?P=sign)\Z",
    re.DOTALL,
)
_ERRORS = {"run": UnknownRun, "tag": UnknownTag}


def parse_rename(text: str) -> tuple[str, str]:
    """Split `OLD=NEW`, where `\\=` is an equals sign within a name.

    `s/PATTERN/NEW/` is returned as OLD, with an empty NEW. Raises CannotEdit for any
    other text.
    """
    if _PATTERN.match(text):
        return text, ""
    parts = re.split(r"(?<!\\)=", text)
    if len(parts) != 2 or not parts[0]:
        raise CannotEdit(
            f"'{escape(text)}' is not a renaming rule. Write OLD=NEW, with \\= for an"
            " equals sign in a name, or s/PATTERN/NEW/."
        )
    old, new = (part.replace("\\=", "=") for part in parts)
    return old, new


def list_renames(rules: Renames) -> list[tuple[str, str]]:
    """Return rules of any form as (old, new) pairs. Raises CannotEdit for an invalid rule."""
    if isinstance(rules, Mapping):
        return list(rules.items())
    each = [rules] if isinstance(rules, str) else rules
    return [parse_rename(rule) if isinstance(rule, str) else rule for rule in each]


def rename(
    names: Sequence[str],
    rules: Renames,
    noun: Literal["run", "tag"] = "tag",
    verb: str = "renamed",
) -> dict[str, str]:
    """Return the new name of each name that a rule matches; the first matching rule wins.

        rename(["a_loss", "b_loss"], {"*_loss": "*/loss"})  ->  {"a_loss": "a/loss", ...}

    A rule is a name; a glob, where each `*` in the new name is replaced with the match of
    the corresponding star; or `s/PATTERN/NEW/`, a regular expression to search for, with
    `\\1` in NEW for its groups. Raises UnknownTag or UnknownRun if a rule matches no name.
    """
    new_names: dict[str, str] = {}
    for old, new in list_renames(rules):
        renamed = _apply(names, old, new)
        if not renamed:
            hint = did_you_mean(old, names)
            fact = f"No {noun} matches" if is_glob(old) or _PATTERN.match(old) else f"No {noun}"
            raise _ERRORS[noun](f"{fact} '{escape(old)}', so nothing was {verb}. {hint}".rstrip())
        new_names = renamed | new_names
    return new_names


def _apply(names: Sequence[str], old: str, new: str) -> dict[str, str]:
    if old in names:
        return {old: new}
    pattern = _PATTERN.match(old)
    if pattern and not new:
        sign = pattern["sign"]
        before, after = (pattern[side].replace("\\" + sign, sign) for side in ("old", "new"))
        return _substitute(names, before, after, old)
    if not is_glob(old):
        return {}
    if new.count("*") > old.count("*"):
        raise CannotEdit(f"'{escape(new)}' has more stars than '{escape(old)}'.")
    try:
        matches = re.compile(_with_groups(old), re.DOTALL).fullmatch
    except re.error as error:  # for example [z-a]
        raise CannotEdit(f"'{escape(old)}' is not a valid glob: {error}.") from None
    new_names = {}
    for name in names:
        match = matches(name)
        if match:
            stars = iter(match.groups())
            new_names[name] = re.sub(r"\*", lambda _, stars=stars: next(stars), new)  # type: ignore[misc]
    return new_names


def _substitute(names: Sequence[str], pattern: str, new: str, shown: str) -> dict[str, str]:
    try:
        search = re.compile(pattern)
        return {name: search.sub(new, name) for name in names if search.search(name)}
    except (re.error, IndexError) as error:
        raise CannotEdit(f"'{escape(shown)}' is not a valid pattern: {error}.") from None


def _with_groups(glob: str) -> str:
    """Return a glob as a regular expression with one group per star."""
    parts = []
    for part in re.findall(r"\*|\?|\[[^\]]+\]|.", glob, re.DOTALL):
        if part == "*":
            parts.append("(.*?)")
        elif part == "?":
            parts.append(".")
        elif len(part) > 2 and part[0] == "[":
            inside = part[1:-1].replace("\\", "\\\\")
            parts.append(f"[{'^' + inside[1:] if inside[0] == '!' else inside}]")
        else:
            parts.append(re.escape(part))
    return "".join(parts)
