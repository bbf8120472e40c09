"""In what two runs differ: settings, surroundings, code and final metrics, without pandas."""

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
# What names one process or one job, and differs though the same is done.
_PASSING = {
    "host": re.compile("pid"),
    "environment": re.compile(
        "(?:.*_)?(?:PID|PORT|JOB_?ID|RUN_ID|START_TIME|END_TIME|COOKIE)|RUNFOLD_LOGDIR"
    ),
}
# Beyond so many lines comparing them takes minutes.
_MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that two runs were asked for, and what each said: MISSING for nothing."""

    name: str
    a: Any
    b: Any

    @property
    def is_same(self) -> bool:
        """Whether both say the same. NaN is NaN, and 2 is 2.0, but True is not 1."""
        a, b = self.a, self.b
        if a is MISSING or b is MISSING:
            return a is b
        if a == b:
            return isinstance(a, bool) == isinstance(b, bool)
        return json.dumps(a) == json.dumps(b)


@dataclass(frozen=True, slots=True)
class Final:
    """The last point of one tag in two runs, as (step, value); None where a run has none."""

    tag: str
    a: tuple[int, float] | None
    b: tuple[int, float] | None

    @property
    def is_same(self) -> bool:
        """Whether both runs end at the same value, NaN included."""
        return Entry(self.tag, self.a and self.a[1], self.b and self.b[1]).is_same


@dataclass(frozen=True, slots=True)
class Difference:
    """What two runs say, side by side.

    Attributes:
        sections: what each part of their stories says, entry by entry.
        only_a, only_b: parts that only one of the runs tells of; they are compared with nothing.
        changes: a unified diff of what was not committed, and of each file git did not know.
        finals: the last point of each scalar tag.
    """

    sections: dict[str, list[Entry]]
    only_a: list[str]
    only_b: list[str]
    changes: dict[str, list[str]]
    finals: list[Final]

    def without_same(self) -> Difference:
        """Only what differs; without the load of the machine, and without what always does.

        Of the latter are the process id and a job's number: no two runs share them.
        """
        sections = {
            name: [entry for entry in entries if not (entry.is_same or _is_passing(name, entry))]
            for name, entries in self.sections.items()
        }
        finals = [one for one in self.finals if not (one.is_same or is_system_tag(one.tag))]
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
    told_a, told_b = _tell(a, code_a), _tell(b, code_b)
    if (told_a["configuration"] is None) != (told_b["configuration"] is None):
        for told in (told_a, told_b):
            if told["configuration"] is None:
                told["configuration"] = told["hparams"]
    for told in (told_a, told_b):
        _drop_repeated(told)
    both = [name for name in told_a if told_a[name] is not None and told_b[name] is not None]
    return Difference(
        {name: compare_entries(told_a[name] or {}, told_b[name] or {}) for name in both},
        only_a=[name for name in told_a if told_a[name] is not None and name not in both],
        only_b=[name for name in told_b if told_b[name] is not None and name not in both],
        changes={} if code_a is None or code_b is None else compare_code(code_a, code_b, labels),
        finals=_compare_finals(a, b),
    )


def compare_entries(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Entry]:
    """What two mappings say of each name, in the order of the first."""
    return [Entry(name, a.get(name, MISSING), b.get(name, MISSING)) for name in {**a, **b}]


def compare_code(a: Code, b: Code, labels: tuple[str, str]) -> dict[str, list[str]]:
    """A unified diff of what was not committed, of the script, and of each file git did not know.

    The script stands in the commit too, but the commits of a project may not be at hand.
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


def _tell(log: RunLog, code: Code | None) -> dict[str, dict[str, Any] | None]:
    """What a run says, part by part; None for a part that it says nothing of."""
    status = read_status(log)
    parts = {
        "command": story_parts.COMMAND,
        "configuration": story_parts.CONFIG,
        "hparams": None,
        "environment": story_parts.ENVIRONMENT,
        "packages": story_parts.PACKAGES,
        "host": story_parts.HOST,
    }
    told: dict[str, dict[str, Any] | None] = {
        "status": {"state": status.state, "exit": status.exit},
    }
    for name, part in parts.items():
        said = read_hparams(log) or None if part is None else read_part(log, part)
        if said is not None and not isinstance(said, dict):
            said = {name: said}
        told[name] = None if said is None else dict(name_leaves(said))
    told["command"] = told["command"] and {
        name: _as_typed(value) for name, value in told["command"].items()
    }
    told["code"] = None if code is None else {name: getattr(code, name) for name in _COMMITTED}
    return told


def _as_typed(words: Any) -> Any:
    """A list of arguments as one would type them in a shell; anything else as it is."""
    is_command = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return shlex.join(words) if is_command else words


def _drop_repeated(told: dict[str, dict[str, Any] | None]) -> None:
    """Leave out hparams that the configuration tells already, as it was flattened into them."""
    config, hparams = told["configuration"], told["hparams"]
    if config is not None and hparams is not None:
        told["hparams"] = {name: hparams[name] for name in hparams if name not in config} or None


def _is_passing(section: str, entry: Entry) -> bool:
    names = _PASSING.get(section)
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
        return [f"{counts[0]} and {counts[1]} differ; they are too many to be compared."]
    return list(difflib.unified_diff(lines_a, lines_b, *labels, lineterm=""))


def _lines(text: str) -> list[str]:
    """The lines as git counts them: one that lacks its end has a remark behind it."""
    *lines, rest = text.split("\n")
    return [*lines, rest, "\\ No newline at end of file"] if rest else lines
