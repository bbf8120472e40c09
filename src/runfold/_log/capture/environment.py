"""A run's host, packages, environment variables and command line."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runfold._humanize import utf8
from runfold._log.masking.masking import mask_arguments, mask_mapping
from runfold._log.masking.secret_names import known
from runfold._story.processes import name_user

_NAMES = frozenset(
    {
        *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK"),
        *("ROLE_RANK", "MASTER_ADDR", "MASTER_PORT", "JOB_ID", "CONDA_DEFAULT_ENV"),
        *("CONDA_PREFIX", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LD_PRELOAD"),
        "CUBLAS_WORKSPACE_CONFIG",
    }
)
_PREFIXES = (
    *("SLURM_", "SLURMD_", "PBS_", "LSB_", "SGE_", "OMPI_COMM_WORLD_", "PMI_", "RAY_"),
    *("CUDA_", "NVIDIA_", "NCCL_", "HIP_", "ROCR_", "HSA_", "TPU_", "GLOO_", "UCX_"),
    *("OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "KMP_", "GOMP_", "PYTHON"),
    *("TORCH_", "PYTORCH_", "TORCHELASTIC_", "ACCELERATE_", "DEEPSPEED_", "HOROVOD_"),
    *("XLA_", "JAX_", "TF_", "HF_", "TRANSFORMERS_", "TOKENIZERS_", "RUNFOLD_"),
)
_INFO = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-.*)?\.(?:dist|egg)-info")
_SECONDS = 2.0  # timeout for a subprocess


def describe_host() -> dict[str, Any]:
    """Return facts about the machine, its GPUs and this process. Sizes are in bytes.

    Facts that cannot be determined are omitted.
    """
    return _gather(
        hostname=socket.gethostname,
        user=name_user,
        os=_find_os,
        kernel=platform.release,
        machine=platform.machine,
        cpu=_find_cpu,
        cpu_count=os.cpu_count,
        cpus_allowed=lambda: len(os.sched_getaffinity(0)),
        memory=lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        memory_limit=_find_memory_limit,
        gpus=_find_gpus,
        python=platform.python_version,
        implementation=platform.python_implementation,
        executable=lambda: sys.executable,
        prefix=lambda: sys.prefix,
        cwd=os.getcwd,
        pid=os.getpid,
    )


def list_packages() -> dict[str, str]:
    """Return the versions of the installed packages that this process can import, by name.

    Versions come from folder names: opening the metadata of hundreds of packages
    would take longer than everything else at the start of a run.
    """
    packages: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = [entry.name for entry in os.scandir(folder or ".")]
        except OSError:  # an archive, or missing
            continue
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")):
                name, version = _read_info(folder or ".", entry)
                if name and version:
                    packages.setdefault(name, version)
    return dict(sorted(packages.items()))


def choose_environment() -> dict[str, str]:
    """Return environment variables that affect a run: ranks, SLURM, CUDA, threads, frameworks.

    Secrets are masked.
    """
    chosen = {
        name: value
        for name, value in sorted(os.environ.items())
        if name in _NAMES or name.startswith(_PREFIXES)
    }
    return {name: utf8(value) for name, value in mask_mapping(chosen).items()}


def describe_command(command: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the command line of this process, or `command`, with secrets masked.

    The keys are `argv`, as the script sees it; `orig_argv`, as Python received it;
    `executable`; and `module`, if the script was started with `python -m`.
    """
    known.learn(os.environ)
    if command is not None:
        return {"argv": [utf8(argument) for argument in mask_arguments(command)]}
    return _gather(
        argv=lambda: [utf8(argument) for argument in mask_arguments(sys.argv)],
        orig_argv=lambda: [utf8(argument) for argument in mask_arguments(sys.orig_argv)],
        executable=lambda: sys.executable,
        module=_find_module,
    )


def _gather(**queries: Callable[[], Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, query in queries.items():
        try:
            value = query()
        except Exception:  # a missing fact is better than a run that does not start
            continue
        if value is not None and value != "" and value != []:
            facts[name] = utf8(value) if isinstance(value, str) else value
    return facts


def _find_os() -> str:
    if sys.platform == "linux":
        try:
            return platform.freedesktop_os_release()["PRETTY_NAME"]
        except (OSError, KeyError):
            return "Linux"
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return platform.system()


def _find_cpu() -> str | None:
    if sys.platform == "darwin":
        return _run_command("sysctl", "-n", "machdep.cpu.brand_string").strip()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file.read(65536).splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model", "cpu"):
                return value.strip()
    return None


def _find_memory_limit() -> int | None:
    """Return the container's memory limit, or None if there is none."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if os.path.exists(path):
            text = Path(path).read_text().strip()
            # Without a limit, cgroup v1 reports the largest possible number of pages.
            return int(text) if text.isdecimal() and int(text) < 2**60 else None
    return None


def _find_gpus() -> list[dict[str, Any]] | None:
    try:
        return _query_nvml()
    except Exception:  # not installed, no driver, or an incompatible driver
        pass
    if shutil.which("nvidia-smi") is None:
        return None
    fields = "name,memory.total,driver_version,uuid"
    rows = _run_command("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    gpus = []
    for row in rows.splitlines():
        name, memory, driver, uuid = (cell.strip() for cell in row.split(","))
        gpu = {"name": name, "driver": driver, "uuid": uuid}
        gpus.append(gpu | ({"memory": int(memory) * 2**20} if memory.isdecimal() else {}))
    return gpus


def _query_nvml() -> list[dict[str, Any]]:
    pynvml: Any = importlib.import_module("pynvml")  # from nvidia-ml-py
    pynvml.nvmlInit()
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        gpus = []
        for index in range(pynvml.nvmlDeviceGetCount()):
            device = pynvml.nvmlDeviceGetHandleByIndex(index)
            gpus.append(
                {
                    "name": _text(pynvml.nvmlDeviceGetName(device)),
                    "driver": driver,
                    "uuid": _text(pynvml.nvmlDeviceGetUUID(device)),
                    "memory": int(pynvml.nvmlDeviceGetMemoryInfo(device).total),
                }
            )
        return gpus
    finally:
        pynvml.nvmlShutdown()


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value  # bytes in older versions


def _run_command(*command: str) -> str:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_SECONDS,
        check=True,
        text=True,
        errors="replace",
    ).stdout


def _read_info(folder: str, entry: str) -> tuple[str | None, str | None]:
    match = _INFO.fullmatch(entry)
    name, version = (match["name"], match["version"]) if match else (None, None)
    if name is None:
        # An editable install: its folder has no version in its name.
        from importlib import metadata  # slow to import, and rarely needed

        try:
            package = metadata.PathDistribution(Path(folder, entry))
            name, version = package.metadata["Name"], package.version
        except Exception:  # an empty folder that an uninstall did not delete
            return None, None
    return re.sub(r"[-_.]+", "-", name or "").lower(), version


def _find_module() -> str | None:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return None if spec is None else str(spec.name).removesuffix(".__main__")
