"""Programs that log while an experiment tracker runs, and the data that the tracker stored."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

# No tracker may use the network: each is offline, and behind a proxy that does not exist.
ENVIRONMENT = {
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_DISABLE_ANNOUNCEMENT": "1",
    "COMET_ERROR_TRACKING_ENABLE": "false",
    "COMET_LOGGING_CONSOLE": "ERROR",
    "CUDA_VISIBLE_DEVICES": "",
    "DO_NOT_TRACK": "true",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_TRACKING_URI": "file:./mlruns",
    "SWANLAB_MODE": "offline",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    "WANDB__DISABLE_STATS": "true",
}
# The limit for a program that hangs. On a busy machine, W&B takes a minute to start.
SECONDS = 300
# Steps and values by tag, in the order in which the tracker stored them.
Series = dict[str, list[tuple[int, float]]]


def run_program(folder: Path, code: str, status: int = 0) -> str:
    """Run a program in a folder, and return its standard error.

    Fails if the program ends with a different status or leaves a process running.
    """
    program = folder / "program.py"
    program.write_text(textwrap.dedent(code))
    done = subprocess.run(
        [sys.executable, program.name],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr
    left = [process for process in psutil.process_iter() if _works_in(process, folder)]
    _, alive = psutil.wait_procs(left, SECONDS)
    assert not alive
    return done.stderr


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.cwd()).is_relative_to(folder)
    except psutil.Error:
        return False


@dataclass
class WandbRun:
    """The data of one W&B run."""

    folder: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    logdirs: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)

    @property
    def series(self) -> Series:
        """The points of each tag, with TensorBoard's steps."""
        series: Series = {}
        for row in self.rows:
            for tag, value in row.items():
                if not _is_of_wandb(tag):
                    series.setdefault(tag, []).append((row["global_step"], value))
        return series

    @property
    def values(self) -> dict[tuple[int, str], Any]:
        """Every value by step and tag, without the random names of W&B's files."""
        return {
            (row["global_step"], tag): value
            for row in self.rows
            for tag, value in row.items()
            if not _is_of_wandb(tag)
            and not tag.endswith(("/path", "/filenames", "/sha256", "/size"))
        }


def _is_of_wandb(tag: str) -> bool:
    return tag.startswith("_") or tag.endswith("global_step")


def read_wandb(folder: Path) -> list[WandbRun]:
    """Return the offline W&B runs in a folder, in order of creation."""
    runs = []
    for path, records in zip(_find_wandb(folder), read_wandb_records(folder), strict=True):
        run = WandbRun(path.parent)
        for record in records:
            kind = record.WhichOneof("record_type")
            if kind == "history":
                run.rows.append(
                    {
                        item.key or "/".join(item.nested_key): json.loads(item.value_json)
                        for item in record.history.item
                    }
                )
            elif kind == "tbrecord":
                run.logdirs.append(record.tbrecord.log_dir)
            elif kind == "files":
                run.saved += [file.path for file in record.files.files]
        runs.append(run)
    return runs


def read_wandb_records(folder: Path) -> list[list[Any]]:
    """Return all records of each offline W&B run in a folder, in order of creation."""
    from wandb.proto.wandb_internal_pb2 import Record

    return [
        [Record.FromString(payload) for payload in _read_framed(path, b":W&B")]
        for path in _find_wandb(folder)
    ]


def _find_wandb(folder: Path) -> list[Path]:
    return sorted(folder.glob("wandb/offline-run-*/run-*.wandb"), key=_birth)


def _birth(path: Path) -> int:
    return path.parent.joinpath("logs").stat().st_ctime_ns


def _read_framed(path: Path, ident: bytes) -> Iterator[bytes]:
    """Yield the records of a file in LevelDB's log format, with checksums verified."""
    data = path.read_bytes()
    assert data[:4] == ident
    at, record = 7, b""
    while at < len(data):
        room = 32768 - at % 32768
        if room < 7:
            assert not any(data[at : at + room])
            at += room
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + length]
        assert zlib.crc32(bytes([kind]) + part) == checksum
        at, record = at + 7 + length, record + part
        if kind in (1, 4):  # the whole record or its last part
            yield record
            record = b""


@dataclass
class Stored:
    """The data of a single tracker run: series, hparams, and the tags of its text and images."""

    series: Series = field(default_factory=dict)
    hparams: dict[str, str] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    images: set[str] = field(default_factory=set)

    def add(self, tag: str, step: int, value: float) -> None:
        """Add a point to a series."""
        self.series.setdefault(tag, []).append((step, value))


def read_mlflow(folder: Path) -> list[Stored]:
    """Return the runs in MLflow's folder, in order of their start."""
    runs = [
        path.parent for path in folder.glob("mlruns/*/*/meta.yaml") if "models" not in path.parts
    ]
    return [_read_mlflow_run(run) for run in sorted(runs, key=lambda run: run.stat().st_ctime_ns)]


def _read_mlflow_run(run: Path) -> Stored:
    stored = Stored()
    for path in sorted(run.joinpath("metrics").rglob("*")):
        for line in path.read_text().splitlines() if path.is_file() else ():
            _, value, step = line.split()[:3]
            stored.add(str(path.relative_to(run / "metrics")), int(step), float(value))
    for path in run.joinpath("params").rglob("*"):
        stored.hparams[path.name] = path.read_text()
    return stored


def read_swanlab(folder: Path) -> list[Stored]:
    """Return SwanLab's offline runs."""
    from swanlab.proto.swanlab.record.v1.record_pb2 import Record

    runs = []
    for path in sorted(folder.glob("swanlog/run-*/*.swanlab")):
        stored = Stored()
        for payload in _read_framed(path, b":SWL"):
            record = Record.FromString(payload)
            if record.HasField("scalar"):
                number = record.scalar.value.number
                stored.add(record.scalar.key, record.scalar.step, number)
            elif record.HasField("media"):
                names = [item.filename for item in record.media.value.items]
                kind = stored.texts if names[0].endswith(".txt") else stored.images
                kind.add(record.media.key)
        runs.append(stored)
    return runs


def read_clearml(folder: Path) -> list[Stored]:
    """Return ClearML's offline tasks; the title and series of a plot form the tag."""
    runs = []
    for task in sorted(folder.glob(".clearml/cache/offline/*/task.json")):
        stored = Stored()
        parameters = json.loads(task.read_text())["hyperparams"].get("TB_hparams", {})
        stored.hparams = {name: entry["value"] for name, entry in parameters.items()}
        for line in task.with_name("metrics.jsonl").read_text().splitlines():
            for event in json.loads(line):
                tag = "/".join(dict.fromkeys((event["metric"], event["variant"])))
                if event["type"] == "training_stats_scalar":
                    stored.add(tag, event["iter"], event["value"])
                elif event["type"] == "training_debug_image":
                    is_text = str(event.get("url") or event.get("key")).endswith(".txt")
                    (stored.texts if is_text else stored.images).add(tag)
        runs.append(stored)
    return runs


def read_comet(folder: Path) -> list[Stored]:
    """Return Comet's offline experiments."""
    runs = []
    for path in sorted(folder.glob("comet/*.zip")):
        stored = Stored()
        with zipfile.ZipFile(path) as archive:
            lines = archive.read("messages.json").decode().splitlines()
        for message in map(json.loads, lines):
            payload = message["payload"]
            if message["type"] == "metric_msg":
                metric = payload["metric"]
                if not metric["metricName"].startswith("sys."):
                    stored.add(metric["metricName"], metric["step"], metric["metricValue"])
            elif message["type"] == "parameter_msg":
                name, value = payload["param"]["paramName"], payload["param"]["paramValue"]
                if name != "curr_step":  # added by Comet itself
                    stored.hparams[name] = str(value)
            elif message["type"] == "file_upload":
                upload = payload["additional_params"]
                if payload.get("upload_type") == "visualization":
                    stored.images.add(upload["figName"])
        runs.append(stored)
    return runs
