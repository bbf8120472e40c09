"""How two runs differ: settings, machine, code and final metrics, without pandas."""

from __future__ import annotations

import difflib
import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runfold._conventions import is_system_tag
from runfold._humanize import human_count
from runfold._story import story_parts
from runfold._story.story_records import name_leaves
from runfold._tables.by_run.run_story import read_code, read_hparams, read_part, read_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runfold._logdir.run_log import RunLog
    from runfold._story.story_records import Code

MISSING = object()
UNCOMMITTED = "uncommitted changes"

_COMMITTED = ("commit", "branch", "remote", "is_dirty", "script")
# Names that identify a process or job, and so differ between otherwise identical runs.
_PER_PROCESS = {
    "host": re.compile("pid"),
    "environment": re.compile(
        "(?:.*_)?(?:PID|PORT|JOB_?ID|RUN_ID|START_TIME|END_TIME|COOKIE)|RUNFOLD_LOGDIR"
    ),
}
# Comparing more lines than this takes minutes.
_MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """The values of one setting in two runs; MISSING if a run does not have it."""

    name: str
    a: Any
    b: Any

    @property
    def is_same(self) -> bool:
        """Whether both values are equal: NaN equals NaN and 2 equals 2.0, but True is not 1."""
        a, b = self.a, self.b
        if a is MISSING or b is MISSING:
            return a is b
        if a == b:
            return isinstance(a, bool) == isinstance(b, bool)
        return json.dumps(a) == json.dumps(b)


@dataclass(frozen=True, slots=True)
class Final:
    """The last point of one tag in each of two runs: (step, value), or None without points."""

    tag: str
    a: tuple[int, float] | None
    b: tuple[int, float] | None

    @property
    def is_same(self) -> bool:
        """Whether both runs end at the same value, NaN included."""
        return Entry(self.tag, self.a and self.a[1], self.b and self.b[1]).is_same


@dataclass(frozen=True, slots=True)
class Difference:
    """Two runs side by side.

    Attributes:
        sections: the values of both runs, entry by entry, for each part that both recorded,
            such as "configuration" or "packages".
        only_a: the parts that only the first run recorded; they are not compared.
        only_b: the parts that only the second run recorded.
        changes: unified diffs of uncommitted changes, the script and untracked files.
        finals: the last point of each scalar tag.
    """

    sections: dict[str, list[Entry]]
    only_a: list[str]
    only_b: list[str]
    changes: dict[str, list[str]]
    finals: list[Final]

    def without_same(self) -> Difference:
        """Return only the differences.

        System metrics and values that differ between any two runs, such as process ids and
        job numbers, are left out.
        """
        sections = {
            name: [
                entry for entry in entries if not (entry.is_same or _is_per_process(name, entry))
            ]
            for name, entries in self.sections.items()
        }
        finals = [final for final in self.finals if not (final.is_same or is_system_tag(final.tag))]
        return Difference(
            {name: entries for name, entries in sections.items() if entries},
            self.only_a,
            self.only_b,
            self.changes,
            finals,
        )


def compare_runs(a: RunLog, b: RunLog, labels: tuple[str, str] = ("a", "b")) -> Difference:
    """Compare two runs; `labels` name them in unified diffs."""
    code_a, code_b = read_code(a), read_code(b)
    parts_a, parts_b = _read_parts(a, code_a), _read_parts(b, code_b)
    if (parts_a["configuration"] is None) != (parts_b["configuration"] is None):
        for parts in (parts_a, parts_b):
            if parts["configuration"] is None:
                parts["configuration"] = parts["hparams"]
    for parts in (parts_a, parts_b):
        _drop_repeated(parts)
    both = [name for name in parts_a if parts_a[name] is not None and parts_b[name] is not None]
    return Difference(
        {name: compare_entries(parts_a[name] or {}, parts_b[name] or {}) for name in both},
        only_a=[name for name in parts_a if parts_a[name] is not None and name not in both],
        only_b=[name for name in parts_b if parts_b[name] is not None and name not in both],
        changes={} if code_a is None or code_b is None else compare_code(code_a, code_b, labels),
        finals=_compare_finals(a, b),
    )


def compare_entries(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Entry]:
    """Return the values of two mappings for each name, in the order of the first mapping."""
    return [Entry(name, a.get(name, MISSING), b.get(name, MISSING)) for name in {**a, **b}]


def compare_code(a: Code, b: Code, labels: tuple[str, str]) -> dict[str, list[str]]:
    """Return unified diffs of uncommitted changes, the script and each untracked file.

    The script is compared even if committed, because the repository may not be available.
    """
    texts_a, texts_b = _texts(a), _texts(b)
    return {
        name: _compare_texts(texts_a.get(name, ""), texts_b.get(name, ""), labels)
        for name in {**texts_a, **texts_b}
        if texts_a.get(name, "") != texts_b.get(name, "")
    }


def _texts(code: Code) -> dict[str, str]:
    script = {code.script: code.script_text} if code.script and code.script_text else {}
    return {UNCOMMITTED: code.diff, **script, **code.files}


def _read_parts(log: RunLog, code: Code | None) -> dict[str, dict[str, Any] | None]:
    """Return the parts of a run's story by name; None for a part that was not recorded."""
    status = read_status(log)
    names = {
        "command": story_parts.COMMAND,
        "configuration": story_parts.CONFIG,
        "hparams": None,
        "environment": story_parts.ENVIRONMENT,
        "packages": story_parts.PACKAGES,
        "host": story_parts.HOST,
    }
    parts: dict[str, dict[str, Any] | None] = {
        "status": {"state": status.state, "exit": status.exit},
    }
    for name, part in names.items():
        value = read_hparams(log) or None if part is None else read_part(log, part)
        if value is not None and not isinstance(value, dict):
            value = {name: value}
        parts[name] = None if value is None else dict(name_leaves(value))
    parts["command"] = parts["command"] and {
        name: _as_typed(value) for name, value in parts["command"].items()
    }
    parts["code"] = None if code is None else {name: getattr(code, name) for name in _COMMITTED}
    return parts


def _as_typed(words: Any) -> Any:
    """Return a list of arguments as a shell command, and anything else unchanged."""
    is_command = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return shlex.join(words) if is_command else words


def _drop_repeated(parts: dict[str, dict[str, Any] | None]) -> None:
    """Remove hparams that repeat the configuration, which is also logged as flat hparams."""
    config, hparams = parts["configuration"], parts["hparams"]
    if config is not None and hparams is not None:
        parts["hparams"] = {name: hparams[name] for name in hparams if name not in config} or None


def _is_per_process(section: str, entry: Entry) -> bool:
    names = _PER_PROCESS.get(section)
    return names is not None and names.fullmatch(entry.name) is not None


def _compare_finals(a: RunLog, b: RunLog) -> list[Final]:
    return [Final(tag, _last(a, tag), _last(b, tag)) for tag in {**a.scalars, **b.scalars}]


def _last(log: RunLog, tag: str) -> tuple[int, float] | None:
    series = log.scalars.get(tag)
    if series is None or not len(series):
        return None
    return int(series.steps[-1]), float(series.values[-1])


def _compare_texts(a: str, b: str, labels: tuple[str, str]) -> list[str]:
    lines_a, lines_b = _lines(a), _lines(b)
    if len(lines_a) + len(lines_b) > _MOST_LINES:
        counts = [human_count(len(lines), "line") for lines in (lines_a, lines_b)]
        return [
            "The two versions differ, but are too long to compare line by line"
            f" ({counts[0]} and {counts[1]})."
        ]
    return list(difflib.unified_diff(lines_a, lines_b, *labels, lineterm=""))


def _lines(text: str) -> list[str]:
    """Split text into lines as git does, with a remark if the last line has no newline."""
    *lines, rest = text.split("\n")
    return [*lines, rest, "\\ No newline at end of file"] if rest else lines
