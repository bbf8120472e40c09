"""All settings found for a run, in order of precedence.

The tracked configuration comes first, then text tags, then files. Hparams come before all of these;
see `hparam_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._conventions import STORY_PREFIX, TEXT_SUFFIX
from runfold._events.kinds import text as text_kind
from runfold._story import story_parts
from runfold._tables.found_config.config_reader import read_files
from runfold._tables.found_config.config_text import as_mapping, pair_cells, parse_config
from runfold._tables.found_config.setting_values import flatten_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._tables.found_config.setting_values import Settings

HPARAMS = "hparams"
TRACKED = "configuration"
# transformers writes `args`, CleanRL `hyperparameters`.
TEXT_TAGS = ("args", "hyperparameters", "hparams", "hyperparams", "params", "config")
# Files above the run's folder have sources that begin with this.
ABOVE = "file ../"
_MOST_TEXTS = 10

_STORED_CONFIG = ("text", STORY_PREFIX + story_parts.CONFIG)
_STORED_TEXTS = [
    (("text", tag + suffix), f"text {tag}") for tag in TEXT_TAGS for suffix in ("", TEXT_SUFFIX)
]


def add_found(settings: dict[str, Any], log: RunLog, sources: dict[str, str] | None = None) -> None:
    """Add a run's found settings, except those whose names are already in `settings`.

    `sources` receives the source of each added setting, such as "text args" or "file
    hparams.yaml". Raises BadLog in strict mode if a configuration file cannot be read.
    """
    if log.config_files is None:
        return
    for source, found in _find(log, bool(settings)):
        # Lightning and Ray log the hparam `optim/lr`, and write `optim: {lr: ...}` to the file.
        known = {name.replace("/", ".") for name in settings if "/" in name}
        if not settings and sources is None:
            settings.update(found)
            continue
        for name, value in found.items():
            if name not in settings and name not in known:
                settings[name] = value
                if sources is not None:
                    sources[name] = source


def _find(log: RunLog, has_hparams: bool) -> Iterator[tuple[str, Settings]]:
    """Yield each source that has settings, in order of precedence."""
    if log.payloads:
        # A tracked run's hparams contain its whole configuration.
        if not has_hparams and _STORED_CONFIG in log.payloads:
            yield TRACKED, _read_text(log, log.payloads[_STORED_CONFIG], is_story=True)
        for key, source in _STORED_TEXTS:
            if key in log.payloads:
                yield source, _read_text(log, log.payloads[key])
    if log.config_files is not None:
        for name, found in read_files(log, log.config_files):
            yield f"file {name}", found


def _read_text(log: RunLog, payloads: Payloads, is_story: bool = False) -> Settings:
    """Return the settings in the last text entry of a tag that has any, or an empty mapping.

    A program may log other text with the same tag, so the last `_MOST_TEXTS` entries are read.
    """
    payloads = payloads.readable()
    count = len(payloads)
    for index in range(count - 1, max(count - _MOST_TEXTS, 0) - 1, -1):
        try:
            (stored,) = log.fetch(payloads.only(slice(index, index + 1)))
            if settings := flatten_settings(_parse_text(text_kind.decode(stored), is_story)):
                return settings
        except (ValueError, RecursionError):
            pass  # reported when text is read
    return {}


def _parse_text(value: Any, is_story: bool) -> dict[str, Any]:
    """Return the nested settings in decoded text. Raises ValueError or RecursionError."""
    if not isinstance(value, str):
        # TensorBoard shows two-dimensional text as a table.
        return pair_cells(value.tolist()) if value.ndim == 2 else {}
    return as_mapping(story_parts.decode_story(value)) if is_story else parse_config(value)
