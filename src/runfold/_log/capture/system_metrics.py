"""System metrics: CPU, memory, disk, network and GPUs, sampled every few seconds."""

from __future__ import annotations

import importlib
import os
import time
from typing import TYPE_CHECKING, Any

from runfold._conventions import SYSTEM_PREFIX
from runfold._periodic import Periodic
from runfold._warnings import warn_from_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runfold._log.writer.sink import Sink

    Readings = dict[str, float]
    Source = Callable[[], Readings]


_MEGA = 1e6


class SystemMonitor:
    """Logs system metrics under `system/`, from a thread.

    The step is the number of whole seconds since the start, so that runs sampled
    at different intervals share one axis. The step always increases, because TensorBoard
    drops earlier points when a step repeats or decreases. A resumed run continues from
    `first_step`.

        process/cpu_percent          includes children; 100 is one core
        process/memory_mb            includes children; shared memory is counted in each
        process/read_mb_per_second, write_mb_per_second (from and to disks)
        host/cpu_percent, memory_percent
        disk/read_mb_per_second, write_mb_per_second, used_percent (where the run is)
        network/received_mb_per_second, sent_mb_per_second
        gpu/0/use_percent, memory_percent, memory_mb, temperature_c, power_w

    Rates start with the second sample. Unavailable metrics are omitted. If a source
    fails, a warning is issued and the source is not used again.
    """

    def __init__(self, writer: Sink, seconds: float = 5.0, first_step: int = 0) -> None:
        self._writer = writer
        self._first_step = first_step
        self._last_step = first_step - 1
        self._sources: dict[str, Source] | None = None
        self._began = 0.0
        self._pulse = Periodic(self._log, seconds, "runfold-system")

    def start(self) -> None:
        """Start sampling; the thread takes the first sample immediately."""
        self._began = time.monotonic()
        self._pulse.start()

    def stop(self) -> None:
        """Stop sampling."""
        self._pulse.stop()

    def sample(self) -> Readings:
        """Return the current readings by tag, without the prefix `system/`. Never raises."""
        if self._sources is None:
            self._sources = _find_sources(self._writer.folder)
        readings: Readings = {}
        for name, source in list(self._sources.items()):
            try:
                readings |= source()
            except Exception as error:  # from a driver, or a restricted system
                del self._sources[name]
                warn_from_thread(
                    f"{SYSTEM_PREFIX}{name} is no longer measured: {type(error).__name__}: {error}."
                    " Training and the other measurements continue."
                )
        return readings

    def _log(self) -> None:
        readings = self.sample()
        if self._writer.is_closed:
            self._pulse.stop()
            return
        step = self._first_step + int(time.monotonic() - self._began)
        self._last_step = step = max(step, self._last_step + 1)
        now = time.time()
        for tag, value in readings.items():
            # Not with `log`, because these are not training steps.
            self._writer.put("scalar", SYSTEM_PREFIX + tag, value, step, now)


def _find_sources(folder: str) -> dict[str, Source]:
    # Imported in the thread so that the start of a run does not wait for it.
    import psutil

    processes = _Processes(psutil)
    disk, network = Rates("disk"), Rates("network")

    def read_host() -> Readings:
        return {
            "host/cpu_percent": float(psutil.cpu_percent()),
            "host/memory_percent": float(psutil.virtual_memory().percent),
        }

    def read_disk() -> Readings:
        used = {"disk/used_percent": float(psutil.disk_usage(folder).percent)}
        counters = psutil.disk_io_counters()
        if counters is None:  # a container without disks
            return used
        return used | disk.of(read=counters.read_bytes, write=counters.write_bytes)

    def read_network() -> Readings:
        counters = psutil.net_io_counters()
        if counters is None:
            return {}
        return network.of(received=counters.bytes_recv, sent=counters.bytes_sent)

    psutil.cpu_percent()  # starts the interval for the first sample
    sources: dict[str, Source] = {
        "process": processes.read,
        "process/disk": processes.read_disk,
        "host": read_host,
        "disk": read_disk,
        "network": read_network,
    }
    for number, gpu in _find_gpus():
        sources[f"gpu/{number}"] = gpu
    return sources


class Rates:
    """Converts byte counters to megabytes per second since the last call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: dict[str, int] = {}
        self._at = 0.0

    def of(self, **counters: int) -> Readings:
        """Return the rate of each counter, except new counters and those that were reset."""
        now = time.monotonic()
        passed, seen = now - self._at, self._seen
        self._at, self._seen = now, counters
        return {
            f"{self._name}/{word}_mb_per_second": (count - seen[word]) / _MEGA / passed
            for word, count in counters.items()
            if passed > 0 and seen.get(word, count + 1) <= count
        }


class _Processes:
    """This process and its children, measured together."""

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil
        self._own = psutil.Process()
        self._all = [self._own]
        self._next_search = 0.0
        self._rates = Rates("process")
        self._cpu: tuple[float, float] | None = None

    def read(self) -> Readings:
        """Return CPU and memory use."""
        cpu, memory = 0.0, 0
        for process in self._find():
            try:
                times, size = process.cpu_times(), process.memory_info().rss
            except self._psutil.NoSuchProcess:
                continue
            memory += size
            # A parent's times include those of its children that have exited.
            cpu += times.user + times.system + times.children_user + times.children_system
        now = time.monotonic()
        readings = {"process/memory_mb": memory / _MEGA}
        if self._cpu is not None and now > self._cpu[1]:
            used = max(0.0, cpu - self._cpu[0]) / (now - self._cpu[1])
            # Capped: a child that is found late adds all the CPU time it has ever used.
            readings["process/cpu_percent"] = 100 * min(used, os.cpu_count() or 1)
        self._cpu = (cpu, now)
        return readings

    def read_disk(self) -> Readings:
        """Return disk rates."""
        if not hasattr(self._own, "io_counters"):  # macOS
            return {}
        read, written = 0, 0
        for process in self._all:
            try:
                counters = process.io_counters()
            except self._psutil.NoSuchProcess:
                continue
            read, written = read + counters.read_bytes, written + counters.write_bytes
        return self._rates.of(read=read, write=written)

    def _find(self) -> list[Any]:
        # The search reads one file per process on the host, possibly thousands. It runs
        # rarely enough to take only a thousandth of the time.
        began = time.monotonic()
        if began >= self._next_search:
            self._all = [self._own, *self._own.children(recursive=True)]
            now = time.monotonic()
            self._next_search = now + 1000 * (now - began)
        return self._all


def _find_gpus() -> Iterator[tuple[int, Source]]:
    """Yield the driver's index and a reader for each GPU that the job can use."""
    try:
        nvml: Any = importlib.import_module("pynvml")
        nvml.nvmlInit()
        handles = list(_visible(nvml))
    except Exception:  # not installed, or no driver, as on most machines
        return
    for handle in handles:
        try:
            yield int(nvml.nvmlDeviceGetIndex(handle)), _Gpu(nvml, handle).read
        except nvml.NVMLError:
            continue


def _visible(nvml: Any) -> Iterator[Any]:
    """Yield the devices that CUDA shows to this process; other jobs may use the rest."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        for number in range(nvml.nvmlDeviceGetCount()):
            yield nvml.nvmlDeviceGetHandleByIndex(number)
        return
    for name in map(str.strip, named.split(",")):
        if name.isdecimal():
            yield nvml.nvmlDeviceGetHandleByIndex(int(name))
        elif name.startswith("GPU-"):
            yield nvml.nvmlDeviceGetHandleByUUID(name)
        else:  # like CUDA, ignore everything after an unknown name
            return


class _Gpu:
    """One GPU. Readings that its model does not support are omitted."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._name = f"gpu/{int(nvml.nvmlDeviceGetIndex(handle))}"

    def read(self) -> Readings:
        """Return memory, use, temperature and power."""
        nvml, handle, name = self._nvml, self._handle, self._name
        readings: Readings = {}

        def add(query: Callable[[], Readings]) -> None:
            try:
                readings.update(query())
            except nvml.NVMLError as error:
                if error.value != nvml.NVML_ERROR_NOT_SUPPORTED:
                    raise

        def memory() -> Readings:
            info = nvml.nvmlDeviceGetMemoryInfo(handle)
            percent = 100.0 * info.used / info.total
            return {f"{name}/memory_mb": info.used / _MEGA, f"{name}/memory_percent": percent}

        def use() -> Readings:
            return {f"{name}/use_percent": float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)}

        def temperature() -> Readings:
            kind = nvml.NVML_TEMPERATURE_GPU
            return {f"{name}/temperature_c": float(nvml.nvmlDeviceGetTemperature(handle, kind))}

        def power() -> Readings:
            return {f"{name}/power_w": nvml.nvmlDeviceGetPowerUsage(handle) / 1000}

        for query in (memory, use, temperature, power):
            add(query)
        return readings
