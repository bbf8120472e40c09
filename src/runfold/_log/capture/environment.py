"""Where and how a run was started: host, packages, environment variables and command line."""

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
_BEGINNINGS = (
    *("SLURM_", "SLURMD_", "PBS_", "LSB_", "SGE_", "OMPI_COMM_WORLD_", "PMI_", "RAY_"),
    *("CUDA_", "NVIDIA_", "NCCL_", "HIP_", "ROCR_", "HSA_", "TPU_", "GLOO_", "UCX_"),
    *("OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "KMP_", "GOMP_", "PYTHON"),
    *("TORCH_", "PYTORCH_", "TORCHELASTIC_", "ACCELERATE_", "DEEPSPEED_", "HOROVOD_"),
    *("XLA_", "JAX_", "TF_", "HF_", "TRANSFORMERS_", "TOKENIZERS_", "RUNFOLD_"),
)
_INFO = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-.*)?\.(?:dist|egg)-info")
_SECONDS = 2.0  # for a program that is asked


def describe_host() -> dict[str, Any]:
    """The machine and the process: names, sizes in bytes, and GPUs where there are any.

    What cannot be found out is left out.
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
    """The installed packages that this process can import, by name, with their versions.

    Read off the names of their folders: to open the metadata of hundreds takes
    longer than the rest of a run's start.
    """
    packages: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = [entry.name for entry in os.scandir(folder or ".")]
        except OSError:  # an archive, or not there
            continue
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")):
                name, version = _read_info(folder or ".", entry)
                if name and version:
                    packages.setdefault(name, version)
    return dict(sorted(packages.items()))


def choose_environment() -> dict[str, str]:
    """The environment variables that say how a run runs: ranks, SLURM, CUDA, threads, frameworks.

    Secrets among them are masked.
    """
    chosen = {
        name: value
        for name, value in sorted(os.environ.items())
        if name in _NAMES or name.startswith(_BEGINNINGS)
    }
    return {name: utf8(value) for name, value in mask_mapping(chosen).items()}


def describe_command(command: Sequence[str] | None = None) -> dict[str, Any]:
    """The command line, with secrets masked: this process's, or another's.

    `argv` as the script sees it, `orig_argv` as Python was called, `executable`,
    and `module` where it was started by `python -m`.
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


def _gather(**questions: Callable[[], Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for name, ask in questions.items():
        try:
            answer = ask()
        except Exception:  # a story with a gap is better than a run that does not start
            continue
        if answer is not None and answer != "" and answer != []:
            answers[name] = utf8(answer) if isinstance(answer, str) else answer
    return answers


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
        return _ask("sysctl", "-n", "machdep.cpu.brand_string").strip()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file.read(65536).splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model", "cpu"):
                return value.strip()
    return None


def _find_memory_limit() -> int | None:
    """What a container may use, where that is limited."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if os.path.exists(path):
            text = Path(path).read_text().strip()
            # Without a limit the older interface gives the largest number of pages.
            return int(text) if text.isdecimal() and int(text) < 2**60 else None
    return None


def _find_gpus() -> list[dict[str, Any]] | None:
    try:
        return _ask_nvml()
    except Exception:  # not installed, no driver, or a driver of another version
        pass
    if shutil.which("nvidia-smi") is None:
        return None
    fields = "name,memory.total,driver_version,uuid"
    rows = _ask("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    gpus = []
    for row in rows.splitlines():
        name, memory, driver, uuid = (cell.strip() for cell in row.split(","))
        gpu = {"name": name, "driver": driver, "uuid": uuid}
        gpus.append(gpu | ({"memory": int(memory) * 2**20} if memory.isdecimal() else {}))
    return gpus


def _ask_nvml() -> list[dict[str, Any]]:
    pynvml: Any = importlib.import_module("pynvml")  # of nvidia-ml-py
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


def _ask(*command: str) -> str:
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
    found = _INFO.fullmatch(entry)
    name, version = (found["name"], found["version"]) if found else (None, None)
    if name is None:
        # A package that is developed in place: its folder has no version in its name.
        from importlib import metadata  # slow to import, and seldom needed

        try:
            package = metadata.PathDistribution(Path(folder, entry))
            name, version = package.metadata["Name"], package.version
        except Exception:  # an empty folder, left behind
            return None, None
    return re.sub(r"[-_.]+", "-", name or "").lower(), version


def _find_module() -> str | None:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return None if spec is None else str(spec.name).removesuffix(".__main__")
