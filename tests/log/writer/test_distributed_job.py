"""The distributed job that a process belongs to: rank, size and identity."""

import contextlib
import os
import random
import socket
import subprocess
import sys
from typing import Any

import pytest

from runfold._log.writer.distributed_job import Job, find_job

SLURM = {"SLURM_PROCID": "2", "SLURM_NTASKS": "4"}
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "3"}


@pytest.fixture
def variables(monkeypatch):
    """A function that sets one launcher's variables and removes those of all other launchers."""
    starts = ("RANK", "WORLD_SIZE", "MASTER_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC_")

    def set_variables(values):
        for name in [name for name in os.environ if name.startswith(starts)]:
            monkeypatch.delenv(name)
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    set_variables({})
    return set_variables


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (TORCHRUN, (1, 3, True)),
        (SLURM, (2, 4, False)),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3", "SLURM_NTASKS": "4"}, (2, 3, False)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2, False)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, 2, False)),
        # One torchrun per node, started by Slurm.
        ({**SLURM, **TORCHRUN}, (1, 3, True)),
        # mpirun in a Slurm script: its processes inherit the script's variables.
        ({**SLURM, "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2, False)),
        # RANK set for another purpose.
        ({**SLURM, "RANK": "7"}, (2, 4, False)),
    ],
)
def test_launcher_variables_set_rank_size_and_certainty(variables, values, found):
    variables(values)
    job = find_job()
    assert job is not None
    assert (job.rank, job.size, job.is_certain) == found


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"RANK": "1"},
        {"SLURM_PROCID": "1"},
        {"OMPI_COMM_WORLD_RANK": "1"},
        {"WORLD_SIZE": "4"},
        {"RANK": "0", "WORLD_SIZE": "1"},
        # One torchrun per Slurm task, each with one process: four seeds.
        {**SLURM, "RANK": "0", "WORLD_SIZE": "1"},
        {"RANK": "4", "WORLD_SIZE": "4"},
        {"RANK": "-1", "WORLD_SIZE": "4"},
        {"RANK": "", "WORLD_SIZE": "4"},
        {"RANK": "one", "WORLD_SIZE": "4"},
        {"RANK": "1", "WORLD_SIZE": "4.0"},
        {"RANK": "1", "WORLD_SIZE": "9" * 5000},
        {"RANK": "²", "WORLD_SIZE": "4"},
    ],
)
def test_a_process_without_a_launcher_is_alone(variables, values):
    variables(values)
    assert find_job() is None


JOBS = [
    {"TORCHELASTIC_RUN_ID": "a", "MASTER_ADDR": "node", "MASTER_PORT": "1"},
    {"TORCHELASTIC_RUN_ID": "b", "MASTER_ADDR": "node", "MASTER_PORT": "1"},
    {"TORCHELASTIC_RUN_ID": "a", "MASTER_ADDR": "node", "MASTER_PORT": "2"},
    {"MASTER_ADDR": "node", "MASTER_PORT": "1"},
    {"MASTER_ADDR": "node", "MASTER_PORT": "2"},
    {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0"},
    {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "1"},
    {"SLURM_JOB_ID": "2", "SLURM_STEP_ID": "0"},
    {"SLURM_JOB_ID": "2", "SLURM_STEP_ID": "0", "SLURM_RESTART_COUNT": "1"},
    {"PMIX_NAMESPACE": "prterun-node-1@1"},
    {"PMIX_NAMESPACE": "\udcff" + "x" * 100_000},
    {},
]


def test_an_identity_is_unique_to_a_job_and_shared_by_its_ranks(variables):
    identities: list[Any] = []
    for values in JOBS:
        found = set()
        for rank in "01":
            variables({**values, "RANK": rank, "WORLD_SIZE": "2"})
            found.add(find_job().identity)
        assert len(found) == 1
        identities += found
    assert len(set(identities)) == len(JOBS)
    assert all(len(identity) == 32 for identity in identities)


def test_nodes_with_separate_slurm_steps_and_torchruns_are_one_job(variables):
    identities = set()
    for step in "01":
        torchrun = {**TORCHRUN, "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "node"}
        variables({**torchrun, "SLURM_JOB_ID": "7", "SLURM_STEP_ID": step})
        identities.add(find_job().identity)
    assert len(identities) == 1


def find_in_processes(program: str, *places: str, **variables: str) -> list[Job | None]:
    """Return the jobs that two processes detect, given their ranks and a rendezvous."""
    head = (
        "import sys\nfrom runfold._log.writer.distributed_job import Job, find_job\n"
        "rank = int(sys.argv[1])\n"
    )
    processes = [
        subprocess.Popen(
            # Each process has its own parent, as on two nodes.
            [
                *("sh", "-c", '"$@"; exit $?', "sh"),
                *(sys.executable, "-c", head + program, str(rank), *places),
            ],
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    jobs = []
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        jobs.append(eval(output))  # the repr of a Job
    return jobs


def free_port() -> int:
    """Return an unused port that the system does not assign to others."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


TORCH_PROGRAM = """
import torch.distributed
torch.distributed.init_process_group("gloo", sys.argv[2], rank=rank, world_size=2)
torch.distributed.barrier()
print(find_job())
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_a_torch_group_takes_precedence_and_is_identified_by_its_address(tmp_path, variables, kind):
    addresses = {
        "file": f"file://{tmp_path / 'meeting'}",
        "tcp": f"tcp://127.0.0.1:{free_port()}",
    }
    # The variables come from another launcher, and are wrong for both processes.
    zero, rank_one = find_in_processes(TORCH_PROGRAM, addresses[kind], **SLURM)
    assert (zero.rank, zero.size, zero.is_certain) == (0, 2, True)
    assert rank_one == Job(1, 2, zero.identity, is_certain=True)


def test_a_torch_group_of_one_process_is_not_a_job(tmp_path, variables):
    program = """
import torch.distributed
torch.distributed.init_process_group("gloo", sys.argv[2] + str(rank), rank=0, world_size=1)
print(find_job())
"""
    assert find_in_processes(program, f"file://{tmp_path}/meeting", **SLURM) == [None, None]


def test_a_jax_group_takes_precedence_and_no_backend_is_started(variables):
    pytest.importorskip("jax")
    program = """
import jax
jax.distributed.initialize(sys.argv[2], num_processes=2, process_id=rank)
print(find_job())
from jax._src import xla_bridge
assert not xla_bridge.backends_are_initialized()
jax.distributed.shutdown()
"""
    zero, rank_one = find_in_processes(program, f"127.0.0.1:{free_port()}", JAX_PLATFORMS="cpu")
    assert (zero.rank, zero.size, zero.is_certain) == (0, 2, True)
    assert rank_one == Job(1, 2, zero.identity, is_certain=True)


class Strange:
    """A package in which every part fails."""

    def __getattr__(self, name):
        raise RuntimeError(name)


@pytest.mark.parametrize("package", ["torch.distributed", "jax._src.distributed"])
def test_variables_are_used_if_a_package_fails(variables, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, Strange())
    variables(TORCHRUN)
    job = find_job()
    assert job is not None
    assert job.rank == 1


def test_neither_torch_nor_jax_is_imported():
    program = """
import sys
from runfold._log.writer.distributed_job import find_job
find_job()
print({"torch", "jax"} & {*sys.modules})
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert output.stdout == b"set()\n"
