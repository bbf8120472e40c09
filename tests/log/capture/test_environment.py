"""A run's host, packages, environment variables and command line."""

import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata

import psutil

from runfold._log.capture.environment import (
    choose_environment,
    describe_host,
    list_packages,
)


def run(*arguments, **environment):
    return json.loads(
        subprocess.run(
            [sys.executable, *arguments],
            env=os.environ | environment,
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    )


def test_the_host_matches_psutil_and_platform():
    host = describe_host()
    assert host["hostname"] == platform.node()
    assert host["python"] == platform.python_version()
    assert host["executable"] == sys.executable
    assert host["cpu_count"] == psutil.cpu_count()
    assert host["memory"] == psutil.virtual_memory().total
    assert host["user"] == psutil.Process().username()
    assert host["cwd"] == os.getcwd()
    assert host["pid"] == os.getpid()
    assert json.loads(json.dumps(host)) == host


def test_unavailable_facts_are_omitted(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, json; from runfold._log.capture.environment import *\n"
        f"os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})\n"
        "host = describe_host(); list_packages(); print(json.dumps(host))"
    )
    host = run("-c", code)
    assert "cwd" not in host
    assert host["hostname"] == platform.node()


def test_gpus_come_from_nvidia_smi(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\necho 'NVIDIA A100-SXM4-40GB, 40960, 535.104.05, GPU-1'\n"
        "echo 'NVIDIA GB10, [N/A], 580.95, GPU-2'\n"
    )
    program.chmod(0o755)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert describe_host()["gpus"] == [
        {
            "name": "NVIDIA A100-SXM4-40GB",
            "driver": "535.104.05",
            "uuid": "GPU-1",
            "memory": 40960 * 2**20,
        },
        {"name": "NVIDIA GB10", "driver": "580.95", "uuid": "GPU-2"},
    ]


def test_packages_match_importlib():
    expected: dict[str, str] = {}
    for package in metadata.distributions():
        name = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()
        expected.setdefault(name, package.version)
    assert list_packages() == dict(sorted(expected.items()))


def test_an_editable_install_and_an_empty_folder(tmp_path, monkeypatch):
    for name in ("mine.egg-info", "gone.dist-info", "Old_Style-1.2-py3.11.egg-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine.egg-info" / "PKG-INFO").write_text("Name: My_Package\nVersion: 3.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    assert list_packages() == {"my-package": "3.0", "old-style": "1.2"}


def test_the_environment_contains_relevant_variables_and_no_secrets(monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_JWT", "abc")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("HF_TOKEN", "abc")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("WANDB_API_KEY", "abc")
    monkeypatch.setenv("PYTHONPATH", os.fsdecode(b"/caf\xe9"))
    assert choose_environment() == {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "HF_TOKEN": "***",
        "PYTHONPATH": "/caf\\udce9",
        "RANK": "1",
        "SLURM_JOB_ID": "17",
        "SLURM_JWT": "***",
        "TOKENIZERS_PARALLELISM": "false",
    }


def test_the_command_of_a_script_and_of_a_module(tmp_path):
    text = (
        "import json; from runfold._log.capture.environment import *; "
        "print(json.dumps(describe_command()))"
    )
    (tmp_path / "package").mkdir()
    script = tmp_path / "package" / "__main__.py"
    script.write_text(text)
    assert run(str(script), "--lr", "1", "--token", "abc") == {
        "argv": [str(script), "--lr", "1", "--token", "***"],
        "orig_argv": [sys.executable, str(script), "--lr", "1", "--token", "***"],
        "executable": sys.executable,
    }
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert run("-m", "package", "--password=x", PYTHONPATH=path) == {
        "argv": [str(script), "--password=***"],
        "orig_argv": [sys.executable, "-m", "package", "--password=***"],
        "executable": sys.executable,
        "module": "package",
    }
