"""Options of an instance: the TensorBoard flags that users can set, and Runfold's own."""

from __future__ import annotations

import argparse
import json
import math
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from runfold._humanize import did_you_mean, escape
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

IDLE_SECONDS = 1800.0

# TensorBoard's defaults keep 1,000 random points of a series, and 10 images or text entries. A
# chart of 100,000 points still opens within a second or two; images are kept in memory in full.
_SAMPLES = {
    "scalars": 100_000,
    "histograms": 5_000,
    "distributions": 5_000,
    "images": 200,
    "audio": 200,
    "text": 1_000,
    "pr_curves": 1_000,
    "mesh": 200,
    "boxes": 200,
}

# TensorBoard interprets 0 as "all" when it loads data, but as "none" when it displays data.
_ALL = 1_000_000_000

# Without these flags, a run with a second event file, for example after a restart, may stop
# growing.
_DEFAULTS = {"reload_multifile": "true", "reload_interval": "5", "load_fast": "auto"}

# The fast loader listens on a separate port, where it requires no key.
_CLUSTER_DEFAULTS = {"load_fast": "false"}

# TensorBoard flags that users can set. Runfold sets the other flags itself, or they do not
# concern serving.
_ALLOWED = frozenset(
    (
        *("detect_file_replacement", "generic_data", "load_fast", "max_reload_threads"),
        *("purge_orphaned_data", "reload_interval", "reload_multifile"),
        *("reload_multifile_inactive_secs", "reload_task", "samples_per_plugin", "window_title"),
    )
)
_OURS = ("description", "idle_timeout")

_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


class BadOption(RunfoldError, ValueError):
    """An instance option is unknown, is not available to users, or has an invalid value."""


@dataclass(frozen=True, slots=True)
class Options:
    """TensorBoard flags as text, and the idle timeout in seconds; 0 for no timeout.

    `cluster` is the address of the Ray cluster to run on, `auto` for the cluster of this
    machine; None for this machine itself.
    """

    flags: tuple[tuple[str, str], ...] = ()
    idle_timeout: float = IDLE_SECONDS
    description: str = ""
    cluster: str | None = None

    def to_json(self) -> str:
        """Return the options as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Options:
        """Parse options that `to_json` returned."""
        kept: dict[str, Any] = json.loads(text)
        flags = tuple((name, value) for name, value in kept["flags"])
        cluster = kept.get("cluster")  # added later than the others
        return cls(flags, kept["idle_timeout"], kept["description"], cluster)

    @property
    def key(self) -> str:
        """A string that is equal for options with the same effect on the displayed data."""
        parts = [sorted(self.flags), self.idle_timeout]
        return json.dumps(parts if self.cluster is None else [*parts, self.cluster])

    def to_arguments(self) -> list[str]:
        """Return the flags for TensorBoard, with our defaults for those not set."""
        defaults = _DEFAULTS if self.cluster is None else _DEFAULTS | _CLUSTER_DEFAULTS
        flags = {**defaults, **dict(self.flags)}
        samples = {**_SAMPLES, **_read_samples(flags.get("samples_per_plugin", ""))}
        flags["samples_per_plugin"] = ",".join(f"{name}={n or _ALL}" for name, n in samples.items())
        return [f"--{name}={value}" for name, value in flags.items()]


def read_options(config: Mapping[str, object]) -> Options:
    """Return the options set by a configuration. Raises BadOption with a suggestion.

    In addition to TensorBoard flags, this function accepts `description` and `idle_timeout`, given
    as seconds or as `30m`, `2h` or `never`. TensorBoard's parser checks each flag;
    TensorBoard is imported only if a flag is set.

        read_options({"reload_interval": 30, "idle_timeout": "2h"})
    """
    flags = {name.replace("-", "_"): value for name, value in config.items()}
    idle = flags.pop("idle_timeout", IDLE_SECONDS)
    description = flags.pop("description", "")
    shown = tuple((name, _as_flag(name, value)) for name, value in sorted(flags.items()))
    if shown:
        _check_flags(shown)
    return Options(shown, read_seconds(idle), str(description))


def split_setting(text: str) -> tuple[str, str]:
    """Split `name=value` into name and value. Raises BadOption for other text."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise BadOption(f"'{escape(text)}' is not a setting. Write it as name=value.")
    return name.strip(), value.strip()


def read_config(path: str) -> dict[str, object]:
    """Read settings from a YAML file of names and values. Raises BadOption or OSError."""
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise BadOption(
            f"Reading {escape(path)} requires PyYAML. Run: pip install pyyaml"
        ) from None
    with open(path, encoding="utf-8") as file:
        try:
            config = yaml.safe_load(file)
        except (yaml.YAMLError, UnicodeError) as error:
            raise BadOption(f"{escape(path)} is not valid YAML: {escape(str(error))}") from None
    if config is None:
        return {}
    if not isinstance(config, dict) or not all(isinstance(name, str) for name in config):
        raise BadOption(f"{escape(path)} must contain names and values, e.g. reload_interval: 30")
    return config


def read_seconds(value: object) -> float:
    """Parse a time in seconds: a number, `90s`, `30m`, `2h`, `1d`; 0 for `never`."""
    text = str(value).strip().lower()
    if text in ("never", "off"):
        return 0.0
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", text)
    if match is None or match[2] not in _UNITS or isinstance(value, bool):
        raise BadOption(
            "idle_timeout must be a time such as 90, '30m', '2h' or 'never',"
            f" not {escape(repr(value))}."
        )
    seconds = float(match[1]) * _UNITS[match[2]]
    if not math.isfinite(seconds):
        raise BadOption(f"idle_timeout is too long: {escape(text)}.")
    return seconds


def _as_flag(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):  # samples_per_plugin in YAML
        return ",".join(f"{plugin}={count}" for plugin, count in value.items())
    if value is None or isinstance(value, list | tuple):
        raise BadOption(f"{escape(name)} takes one value, not {escape(repr(value))}.")
    return str(value)


def _read_samples(text: str) -> dict[str, int]:
    pairs = (pair.split("=") for pair in text.split(",") if pair)
    return {name.strip(): int(count) for name, count in pairs}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadOption(message)


def _check_flags(flags: Iterable[tuple[str, str]]) -> None:
    """Raise BadOption for a flag that TensorBoard rejects or that users cannot set."""
    # TensorBoard's own parser prints errors and exits, so its flags are defined on this parser.
    parser = _Parser(prog="tensorboard", add_help=False, allow_abbrev=False)
    for loader in _find_loaders():
        loader.define_flags(parser)
    known = {action.dest for action in parser._actions}
    for name, value in flags:
        if name not in _ALLOWED or name not in known:
            raise BadOption(_refuse(name, known))
        try:
            parser.parse_args([f"--{name}={value}"])
        except BadOption as error:
            reason = str(error).removeprefix(f"argument --{name}: ")
            raise BadOption(f"TensorBoard rejects {name}={escape(value)}: {reason}") from None


def _refuse(name: str, known: set[str]) -> str:
    if name in known:
        return f"{name} is set by Runfold itself or does not apply to instances. Remove it."
    hint = did_you_mean(name, [*(_ALLOWED & known), *_OURS])
    return f"TensorBoard has no flag '{escape(name)}'. {hint}".rstrip()


def _find_loaders() -> list[Any]:
    try:
        from tensorboard import default
        from tensorboard.backend.application import make_plugin_loader
    except ImportError as error:
        raise BadOption(
            f"Cannot load TensorBoard's flags ({error}). Run: pip install tensorboard"
        ) from None
    return [make_plugin_loader(plugin) for plugin in default.get_plugins()]
