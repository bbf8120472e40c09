"""Reads configuration files, at most once until they change.

Anyone with write access to a shared logdir can put anything there, so only small regular files are
read, and nothing in them is executed.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
from codecs import BOM_UTF8
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runfold._conventions import MOST_CONFIG_BYTES
from runfold._events.file_state import FileState
from runfold._events.problems import Code, Problem
from runfold._files import read_with_status
from runfold._tables.found_config.config_text import as_mapping
from runfold._tables.found_config.plain_yaml import parse_yaml
from runfold._tables.found_config.setting_values import flatten_settings
from runfold._tables.found_config.simple_yaml import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runfold._logdir.config_files import ConfigFiles
    from runfold._logdir.run_log import RunLog
    from runfold._tables.found_config.setting_values import Settings

# Only these frameworks write files with these names, so any other content is a problem.
_UNAMBIGUOUS = ("hparams.yaml", "hparams.yml", ".hydra/config.yaml", ".hydra/overrides.yaml")
_OVERRIDES = "overrides.yaml"
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
# A longer chain of references is probably circular.
_MOST_REFERENCES = 10
_TRAINER_STATE = "trainer_state.json"
# The rest of the Trainer's state is progress and results, not settings.
_TRAINER_SETTINGS = (
    "max_steps",
    "num_train_epochs",
    "train_batch_size",
    "logging_steps",
    "eval_steps",
    "save_steps",
    "trial_params",
)


@dataclass(slots=True)
class _Content:
    """The settings in a file, or the reason why it cannot be read."""

    state: FileState | None
    generation: int
    settings: Settings = field(default_factory=dict)
    problem: str = ""


def check_config(log: RunLog) -> None:
    """Record the problems of a run's configuration files. Raises BadLog in strict mode."""
    if log.config_files is not None:
        for _ in read_files(log, log.config_files):
            pass


def read_files(log: RunLog, files: ConfigFiles) -> Iterator[tuple[str, Settings]]:
    """Yield the path, relative to the run, and the settings of each configuration file.

    A file that cannot be read is recorded as a problem of the run. Raises BadLog in strict mode.
    """
    if log.late_problems:
        # The file may have been repaired.
        log.late_problems = {
            problem: None for problem in log.late_problems if problem.code != Code.BAD_CONFIG_FILE
        }
    for path, name in files.near(log.path):
        content = files.contents.get(path)
        if content is None or content.generation != files.generation:
            content = files.contents[path] = _read(path, name, content, files.generation)
        if content.problem:
            detail = f"{name}: {content.problem}" if "/" in name else content.problem
            log.note(Problem.of(Code.BAD_CONFIG_FILE, path, detail=detail))
        elif content.settings:
            yield name, content.settings


def _read(path: str, name: str, known: _Content | None, generation: int) -> _Content:
    now = time.time_ns()
    if known is not None and known.state is not None:
        try:
            is_same = known.state.is_same(os.lstat(path))
        except OSError:
            is_same = False
        if is_same:
            known.generation = generation
            return known
    try:
        data, status = read_with_status(path, MOST_CONFIG_BYTES)
    except FileNotFoundError:
        return _Content(None, generation)
    except OSError as error:
        # The Trainer's state contains the whole history, so it is often too large.
        is_expected = name.endswith(_TRAINER_STATE)
        return _Content(None, generation, problem="" if is_expected else _explain(error))
    content = _Content(FileState.of(status, now), generation)
    try:
        content.settings = flatten_settings(_parse(data, name))
        if b"${" in data:
            _follow_references(content.settings)
    except (ValueError, RecursionError) as error:
        if name.endswith(_UNAMBIGUOUS):
            content.problem = _explain(error)
    return content


def _follow_references(settings: Settings) -> None:
    """Replace values such as `${optim.lr}`, with which Hydra refers to other settings."""
    for name, value in settings.items():
        for _ in range(_MOST_REFERENCES):
            reference = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
            if reference is None or reference[1] not in settings:
                settings[name] = value
                break
            value = settings[reference[1]]


def _explain(error: Exception) -> str:
    if isinstance(error, OSError):
        is_link = error.errno in (errno.ELOOP, errno.EMLINK)
        return "a link, which is not followed" if is_link else error.strerror or "cannot be read"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _parse(data: bytes, name: str) -> dict[str, Any]:
    """Return the settings in a file, nested. Raises ValueError or RecursionError."""
    if name.endswith(".json"):
        content = as_mapping(json.loads(data))
        if name.endswith(_TRAINER_STATE):
            return {key: content[key] for key in _TRAINER_SETTINGS if key in content}
        return content
    content = parse_yaml(data.removeprefix(BOM_UTF8).decode())
    if name.endswith(_OVERRIDES):
        return _parse_overrides(content)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError("expected names with values")
    return content


def _parse_overrides(content: Any) -> dict[str, Any]:
    """Return the settings in Hydra's list of overrides, such as `+optim.lr=0.1`."""
    if content is None:
        return {}
    if not isinstance(content, list):
        raise ValueError("expected a list")
    pairs = [
        text.lstrip("+").partition("=")
        for text in content
        if isinstance(text, str) and not text.startswith("~")
    ]
    return {name: resolve(value) for name, equals, value in pairs if equals}
