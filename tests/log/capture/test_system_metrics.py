"""System metrics, sampled from a thread."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import psutil
import pytest
from helpers.tensorboard_readers import READERS, provider, read_scalars

import runfold as rf
from runfold._log.capture.system_metrics import Rates, SystemMonitor
from runfold._log.writer.event_writer import EventWriter

WAIT = 30
LEVELS = {"process/memory_mb", "host/cpu_percent", "host/memory_percent", "disk/used_percent"}

# A fake nvidia-ml-py with two GPUs, because test machines have none.
DRIVER = """
    NVML_TEMPERATURE_GPU, NVML_ERROR_NOT_SUPPORTED = 0, 3
    is_lost = False

    class NVMLError(Exception):
        def __init__(self, value):
            self.value = value

    class Memory:
        used, total = 2_000_000_000, 8_000_000_000

    class Use:
        gpu = 75

    def nvmlInit(): pass
    def nvmlDeviceGetCount(): return 2
    def nvmlDeviceGetHandleByIndex(index): return index
    def nvmlDeviceGetHandleByUUID(name): return 1
    def nvmlDeviceGetIndex(handle): return handle
    def nvmlDeviceGetMemoryInfo(handle):
        if is_lost:
            raise NVMLError(15)
        return Memory
    def nvmlDeviceGetUtilizationRates(handle): return Use
    def nvmlDeviceGetTemperature(handle, kind): return 60
    def nvmlDeviceGetPowerUsage(handle):
        if handle:
            raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
        return 250_500
"""


class Counted(EventWriter):
    """A writer that sets an event once a given number of samples are logged."""

    def __init__(self, folder, calls):
        super().__init__(folder)
        self.calls = calls
        self.is_enough = threading.Event()

    def put(self, kind, *arguments):
        super().put(kind, *arguments)
        self.calls -= arguments[0] == "system/process/memory_mb"
        if self.calls < 0:  # a sample starts only after the previous one is logged
            self.is_enough.set()


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Install the fake nvidia-ml-py."""
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "pynvml.py").write_text(textwrap.dedent(DRIVER))
    monkeypatch.syspath_prepend(tmp_path / "driver")
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield
    sys.modules.pop("pynvml", None)


@pytest.fixture
def writer(tmp_path):
    with EventWriter(str(tmp_path / "run")) as writer:
        yield writer


@pytest.mark.parametrize("reader", READERS)
def test_samples_are_logged_with_their_times_and_increasing_steps(tmp_path, reader):
    began = time.time()
    for first_step in (0, 1000):  # started, then resumed
        writer = Counted(str(tmp_path / "run"), 3)
        monitor = SystemMonitor(writer, 0.01, first_step)
        monitor.start()
        assert writer.is_enough.wait(WAIT)
        monitor.stop()
        writer.close()
    tags = {tag.removeprefix("system/") for tag in rf.open(tmp_path)["run"].tags["scalar"]}
    assert tags >= LEVELS | {"process/cpu_percent", "network/sent_mb_per_second"}
    with provider(reader, tmp_path) as source:
        points = read_scalars(source, "run", "system/process/memory_mb")
    assert len(points) >= 6
    for _, wall_time, value in points:
        assert began <= wall_time <= time.time()
        assert value > 1
    steps = [step for step, _, _ in points]
    assert steps == sorted(set(steps))
    assert steps[0] == 0
    assert 1000 in steps


def test_memory_includes_the_children(writer):
    size = 200_000_000
    script = f"data = bytearray({size}); print(flush=True); input()"
    alone = SystemMonitor(writer).sample()["process/memory_mb"]
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        together = SystemMonitor(writer).sample()["process/memory_mb"]
        child.communicate(b"\n")
    assert together > alone + 0.9 * size / 1e6


def test_rates_are_bytes_per_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    rates = Rates("disk")
    assert rates.of(read=5_000_000, write=0) == {}
    now[0] += 2
    readings = rates.of(read=9_000_000, write=1_000_000)
    assert readings == {"disk/read_mb_per_second": 2.0, "disk/write_mb_per_second": 0.5}
    now[0] += 1
    # A counter that was reset, for example by a removed disk, has no rate.
    assert rates.of(read=3, write=1_000_000) == {"disk/write_mb_per_second": 0.0}


def test_a_failing_source_warns_once_and_is_not_used_again(writer, monkeypatch):
    def fail():
        raise PermissionError("/proc/net/dev is hidden")

    monkeypatch.setattr(psutil, "net_io_counters", fail)
    monitor = SystemMonitor(writer)
    with pytest.warns(UserWarning, match=r"system/network is no longer measured: PermissionError"):
        monitor.sample()
    assert monitor.sample().keys() >= LEVELS


def test_each_gpu_has_the_readings_it_supports(writer, driver):
    readings = SystemMonitor(writer).sample()
    assert {tag: value for tag, value in readings.items() if tag.startswith("gpu/")} == {
        "gpu/0/use_percent": 75.0,
        "gpu/0/memory_mb": 2000.0,
        "gpu/0/memory_percent": 25.0,
        "gpu/0/temperature_c": 60.0,
        "gpu/0/power_w": 250.5,
        "gpu/1/use_percent": 75.0,
        "gpu/1/memory_mb": 2000.0,
        "gpu/1/memory_percent": 25.0,
        "gpu/1/temperature_c": 60.0,
    }


@pytest.mark.parametrize(("named", "seen"), [("1", {"1"}), ("GPU-ab", {"1"}), ("", set())])
def test_only_gpus_that_cuda_shows_are_measured(writer, driver, monkeypatch, named, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    tags = SystemMonitor(writer).sample()
    assert {tag.split("/")[1] for tag in tags if tag.startswith("gpu/")} == seen


def test_a_lost_gpu_is_omitted(writer, driver):
    monitor = SystemMonitor(writer)
    monitor.sample()
    sys.modules["pynvml"].is_lost = True  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match=r"system/gpu/. is no longer measured") as warnings:
        readings = monitor.sample()
    assert len(warnings) == 2
    assert not any(tag.startswith("gpu/") for tag in readings)


def test_a_closed_writer_stops_the_monitor(tmp_path):
    writer = Counted(str(tmp_path), 1)
    monitor = SystemMonitor(writer, seconds=0.01)
    monitor.start()
    assert writer.is_enough.wait(WAIT)
    writer.close()
    monitor._pulse._thread.join(WAIT)
    assert not monitor._pulse._thread.is_alive()


def test_psutil_is_imported_lazily():
    script = "import sys, runfold._log.capture.system_metrics; assert 'psutil' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ)
