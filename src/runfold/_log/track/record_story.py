"""Recording of a run's settings and origin in its event file."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from runfold._conventions import STORY_PREFIX
from runfold._log.capture.environment import (
    choose_environment,
    describe_command,
    describe_host,
    list_packages,
)
from runfold._log.masking.masking import mask_mapping
from runfold._log.track.config import as_plain, flatten
from runfold._story import story_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._log.summary.hparams_log import HparamsLog
    from runfold._log.writer.sink import Sink


def record_settings(sink: Sink, log: HparamsLog, hparams: Any, config: Any) -> None:
    """Record hparams and configuration, with secrets replaced by `***`."""
    settings = {**flatten(config or {}), **flatten(hparams or {})}
    if settings:
        log.describe_run(sink, mask_mapping(settings))
    whole = config if config is not None else hparams
    if whole is not None:
        _record(sink, story_parts.CONFIG, mask_mapping(as_plain(whole)))


def record_origin(sink: Sink, command: Sequence[str] | None, has_code: bool) -> None:
    """Record command, host, packages, environment and code."""
    _record(sink, story_parts.COMMAND, describe_command(command))
    _record(sink, story_parts.HOST, describe_host())
    _record(sink, story_parts.PACKAGES, list_packages())
    _record(sink, story_parts.ENVIRONMENT, choose_environment())
    if has_code:
        from runfold._log.capture.code import describe_code
        from runfold._log.capture.script_imports import find_script

        script = find_script(command or sys.argv[:1])
        code = asdict(describe_code(script, is_here=command is None))
        diff, files = code.pop("diff"), code.pop("files")
        _record(sink, story_parts.CODE, code)
        if diff:
            _record(sink, story_parts.DIFF, diff)
        if files:
            _record(sink, story_parts.FILES, files)


def _record(sink: Sink, part: str, value: Any) -> None:
    sink.add_value(STORY_PREFIX + part, story_parts.encode_story(part, value))
