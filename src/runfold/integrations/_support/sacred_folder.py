"""Runs in the folder of Sacred's FileStorageObserver.

Does not import Sacred. Files are untrusted: they may be huge, broken, links or pipes. A file that
cannot be read is reported as a problem, and the rest of the run is read without it.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from runfold._files import is_inside, read_small
from runfold._humanize import escape, human_count, utf8
from runfold._log.capture.transcript import Transcript
from runfold._log.masking.masking import contains_private_key, mask_mapping, mask_source
from runfold._story import story_parts
from runfold._story.story_records import Code
from runfold.integrations._support.recorded_run import RecordedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runfold._story.status import State

_STATES: dict[str, State | None] = {
    "QUEUED": None,
    "RUNNING": "running",
    "COMPLETED": "finished",
    "FAILED": "failed",
}
# Sacred's other states are interrupts: INTERRUPTED, TIMEOUT, and those of the user's classes.
_OTHER_STATE: State = "interrupted"
_LARGEST_JSON = 16 << 20
_LARGEST_METRICS = 512 << 20
_LARGEST_OUTPUT = 64 << 20
_LARGEST_SOURCE = 1 << 20
_LONGEST_OUTPUT = 1_000_000
_MOST_SOURCES = 2_000


def list_runs(folder: str, problems: list[str]) -> list[str]:
    """Return the folders of runs in a folder, numbered ones first. Raises OSError."""
    if os.path.lexists(os.path.join(folder, "run.json")):
        return [folder]
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(("_", ".")) and os.path.lexists(
                os.path.join(entry.path, "run.json")
            ):
                if entry.is_symlink():
                    problems.append(f"run {escape(entry.name)}: it is a link, so it was skipped")
                else:
                    names.append(entry.name)

    def order(name: str) -> tuple[bool, int, str]:
        is_number = name.isascii() and name.isdigit()
        return not is_number, len(name) if is_number else 0, name

    return [os.path.join(folder, name) for name in sorted(names, key=order)]


class SacredRun:
    """One run's folder, read file by file.

    Attributes:
        path: the run's folder.
        base: the folder of all runs, which also contains the sources.
        report: called with each problem.
    """

    def __init__(self, path: str, base: str, report: Callable[[str], object]) -> None:
        """Read `run.json`. Raises ValueError if it cannot be read."""
        self.path = path
        # `base` is the run's own folder if only that was passed.
        self.base = os.path.dirname(path) if base == path else base
        self.report = report
        entry = self._read_json("run.json", _LARGEST_JSON)
        if not isinstance(entry, dict):
            raise ValueError("run.json is missing or broken")
        self.entry: dict[str, Any] = entry
        self.experiment = _as_dict(entry.get("experiment"))
        self.host = _as_dict(entry.get("host"))

    @property
    def name(self) -> str:
        """The name of the experiment, changed to a valid folder name."""
        name = re.sub(r"[/\0]+", "-", utf8(str(self.experiment.get("name") or "")))[:100]
        return name.lstrip(".") or "sacred"

    def read(self) -> RecordedRun:
        """Return everything but the artifacts."""
        started = read_time(self.entry.get("start_time"))
        beat = read_time(self.entry.get("heartbeat"))
        if started is None:
            started = os.stat(os.path.join(self.path, "run.json")).st_mtime
        status = str(self.entry.get("status"))
        run = RecordedRun(started, state=_STATES.get(status, _OTHER_STATE))
        run.ended = read_time(self.entry.get("stop_time")) or beat
        run.host = str(self.host.get("hostname") or "")
        trace = self.entry.get("fail_trace")
        if isinstance(trace, list):
            run.traceback = "".join(map(str, trace))
        config = self._read_json("config.json", _LARGEST_JSON)
        if isinstance(config, dict):
            run.config = simplify(config)
            run.hparams = run.config
        run.parts = list(self._describe())
        self._add_output(run)
        self._add_metrics(run)
        info = self._read_json("info.json", _LARGEST_JSON, is_optional=True)
        add_result(run, self.entry.get("result"))
        if info:
            run.texts["sacred/info"] = as_json(simplify(info))
        meta = _as_dict(self.entry.get("meta"))
        comment = meta.get("comment") or _as_dict(meta.get("options")).get("--comment")
        if isinstance(comment, str):
            run.texts["sacred/comment"] = comment
        run.texts["sacred/experiment"] = as_json(
            {**describe_experiment(self.experiment), "status": status}
        )
        return run

    def list_artifacts(self) -> Iterator[tuple[str, str]]:
        """Yield the name and path of each artifact in the run's folder."""
        for name in _as_list(self.entry.get("artifacts")):
            path = os.path.join(self.path, str(name))
            if not _are_texts([name]) or not is_inside(path, self.path):
                self.report(f"artifact {escape(str(name))}: it is outside the run's folder")
            elif os.path.islink(path) or not os.path.isfile(path):
                self.report(f"artifact {escape(name)}: it is missing or not a regular file")
            else:
                yield name, path

    def _describe(self) -> Iterator[tuple[str, Any]]:
        """Yield the parts of the run's story."""
        yield story_parts.COMMAND, {"argv": describe_command(self.experiment, self.entry)}
        yield story_parts.HOST, describe_host(self.host)
        packages = [str(item).partition("==") for item in _as_list(self._get("dependencies"))]
        yield story_parts.PACKAGES, {name: version for name, _, version in packages}
        variables = mask_mapping(_as_dict(self.host.get("ENV")))
        yield story_parts.ENVIRONMENT, {name: str(value) for name, value in variables.items()}
        code = self._read_code()
        yield (
            story_parts.CODE,
            {key: value for key, value in asdict(code).items() if key not in ("diff", "files")},
        )
        if code.files:
            yield story_parts.FILES, code.files

    def _read_code(self) -> Code:
        files: dict[str, str] = {}
        left_out: dict[str, str] = {}
        masked: list[str] = []
        left = _LARGEST_SOURCE
        for item in _as_list(self._get("sources"))[:_MOST_SOURCES]:
            if not (isinstance(item, list) and len(item) == 2 and _are_texts(item)):
                continue
            name, stored = utf8(item[0]), os.path.join(self.base, item[1])
            if not is_inside(stored, self.base):
                left_out[name] = "it is outside Sacred's folder"
                continue
            try:
                text = read_small(stored, left).decode()
            except (OSError, ValueError) as error:
                left_out[name] = f"it cannot be read: {explain(error)}"
                continue
            if contains_private_key(text):
                left_out[name] = "it may contain secrets"
                continue
            left -= len(text)
            files[name] = mask_source(text, name)
            masked += [name] if files[name] != text else []
        repository = next((item for item in _as_list(self._get("repositories")) if item), None)
        repository = _as_dict(repository)
        script = self._get("mainfile")
        dirty = repository.get("dirty")
        return Code(
            root=str(self._get("base_dir") or "") or None,
            commit=str(repository.get("commit") or "") or None,
            remote=str(repository.get("url") or "") or None,
            is_dirty=dirty if isinstance(dirty, bool) else None,
            script=script if isinstance(script, str) else None,
            script_text=files.get(script) if isinstance(script, str) else None,
            files=files,
            masked=masked,
            left_out=left_out,
            notes=["The code was recorded by Sacred."],
        )

    def _add_output(self, run: RecordedRun) -> None:
        try:
            data = read_small(os.path.join(self.path, "cout.txt"), _LARGEST_OUTPUT)
        except FileNotFoundError:
            return
        except OSError as error:
            self.report(f"cout.txt: {explain(error)}")
            return
        messages = _Messages()
        transcript = Transcript(messages, _LONGEST_OUTPUT)  # type: ignore[arg-type]  # has all that it uses
        transcript.feed()(data)
        transcript.log(is_last=True)
        run.messages = messages.added

    def _add_metrics(self, run: RecordedRun) -> None:
        metrics = self._read_json("metrics.json", _LARGEST_METRICS, is_optional=True)
        for name, metric in sorted(_as_dict(metrics).items()):
            columns = [_as_list(_as_dict(metric).get(key)) for key in ("steps", "values")]
            count = min(map(len, columns))
            if count < max(map(len, columns)):
                self.report(f"metric {escape(name)}: the numbers of steps and values differ")
            times = _as_list(_as_dict(metric).get("timestamps"))[:count]
            wall_times = [read_time(time) for time in times] + [None] * (count - len(times))
            skipped = 0
            for step, value, wall_time in zip(*columns, wall_times, strict=False):
                number = simplify(_restore_array(value))
                is_text = isinstance(number, str | bool) or number is None
                time = run.last_time if wall_time is None else wall_time
                skipped += is_text or not run.add(utf8(name), step, time, number)
            if skipped:
                points = human_count(skipped, "point")
                self.report(
                    f"metric {escape(name)}: skipped {points} whose value is not a number or whose"
                    " step is not a whole number"
                )

    def _get(self, name: str) -> Any:
        return self.experiment.get(name)

    def _read_json(self, name: str, most: int, *, is_optional: bool = False) -> Any:
        """Return the content of a JSON file; report a problem if it cannot be read."""
        try:
            return json.loads(read_small(os.path.join(self.path, name), most))
        except FileNotFoundError as error:
            if not is_optional:
                self.report(f"{name}: {explain(error)}")
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            self.report(f"{name}: {explain(error)}")
        return None


def read_time(text: Any) -> float | None:
    """Return a time in ISO format, which Sacred stores in UTC, as seconds since 1970."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def simplify(value: Any, depth: int = 0) -> Any:
    """Return a value without jsonpickle's wrappers of arrays, tuples and numbers."""
    if depth > 50:
        return "..."
    if isinstance(value, list):
        return [simplify(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    for key in ("py/tuple", "py/set"):
        if set(value) == {key}:
            return simplify(value[key], depth + 1)
    if "py/object" in value:
        for key in ("values", "value"):
            if key in value:
                return simplify(value[key], depth + 1)
    return {str(key): simplify(item, depth + 1) for key, item in value.items()}


def _restore_array(value: Any) -> Any:
    """Return a value. If jsonpickle's wrapper of an array lacks the `py/object` key, add it.

    FileStorageObserver encodes earlier points again at each heartbeat, which removes the key.
    """
    is_wrapper = isinstance(value, dict) and {"dtype", "values"} <= value.keys()
    return {"py/object": "numpy.ndarray", **value} if is_wrapper else value


def describe_experiment(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about an experiment that a run records nowhere else."""
    kept = ("name", "mainfile", "base_dir", "repositories")
    return {name: experiment[name] for name in kept if experiment.get(name)}


def describe_command(experiment: Mapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    """Return the command line of a run, as Sacred's users type it."""
    meta = _as_dict(entry.get("meta"))
    updates = _as_dict(meta.get("config_updates"))
    settings = [f"{name}={value}" for name, value in mask_mapping(updates).items()]
    parts = [*map(str, _as_list(meta.get("named_configs"))), *settings]
    words = [str(experiment.get("mainfile") or ""), str(entry.get("command") or "")]
    return [utf8(word) for word in (*words, *(["with", *parts] if parts else [])) if word]


def describe_host(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return Sacred's facts about the machine under Runfold's names."""
    system = host.get("os")
    facts = {
        "hostname": host.get("hostname"),
        "os": " ".join(map(str, system)) if isinstance(system, list | tuple) else system,
        "cpu": host.get("cpu"),
        "gpus": _as_list(_as_dict(host.get("gpus")).get("gpus")) or None,
        "python": host.get("python_version"),
    }
    return {name: value for name, value in facts.items() if value}


def add_result(run: RecordedRun, result: Any) -> None:
    """Add what the experiment returned: numbers as the series `result`, anything else as text."""
    result = simplify(result)
    if result is None:
        return
    named = result if isinstance(result, dict) else {"": result}
    for name, value in named.items():
        tag = f"result/{name}".rstrip("/")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not run.add(tag, 0, run.last_time, value):
            run.texts[tag] = value if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Return a value as JSON in a code block, with secrets replaced by `***`."""
    masked = mask_mapping({"value": value})["value"]
    shown = utf8(json.dumps(masked, indent=1, default=str, ensure_ascii=False))
    return f"```json\n{shown}\n```"


class _Messages:
    """Keeps what a transcript logs."""

    is_closed = False

    def __init__(self) -> None:
        self.added: list[tuple[bytes, int]] = []

    def add_value(self, tag: str, message: bytes, step: int) -> None:
        self.added.append((message, step))


def explain(error: BaseException) -> str:
    """Return an error message without the path, which can be very long."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return escape(str(error))[:200]


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) and "\0" not in value for value in values)
