"""Connects to a Ray cluster, and checks that its nodes can do the work.

Ray is imported only here and in functions that run after `connect`.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import runfold
from runfold._humanize import escape
from runfold.errors import NoCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_AUTO = "auto"
_LOCAL = "local"

# Seconds to wait for the answer of a cluster. Ray itself tries for many minutes.
_PATIENCE = 10
# Seconds to wait until every node has started a process. A node that takes longer is not checked.
_START = 60
# An HTTP/2 client's greeting with empty settings: Ray answers with its own settings.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4
_HEADER = 9

# The ids of nodes that have the same version of this package.
_checked: set[str] = set()
_lock = threading.Lock()


def connect(address: str | None, what: str) -> Any:
    """Return Ray's module, connected to a cluster.

    `address` is "auto", "local", `host:port` or `ray://host:port`. Without an address, a running
    cluster is used (the one in the environment variable RAY_ADDRESS, or one on this machine). If
    there is none, or if the address is "local", Ray starts one that ends with this process. `what`
    is the feature that needs Ray, for messages.

    Can be called again, and from any thread. If the program has already connected to Ray, that
    connection is used. Raises NoCluster if there is no cluster that can do the work.
    """
    ray = _import(what)
    with _lock:
        if not ray.is_initialized():
            _join(ray, address)
        elif not _is_connected_to(ray, address):
            raise NoCluster(
                f"This process is already connected to the Ray cluster at {_own_address(ray)}, and"
                f" can use only one. Call ray.shutdown() before you use {_name(address)}."
            )
        _check_nodes(ray)
    return ray


def _import(what: str) -> Any:
    # No usage statistics are sent because of this package, and no notice about them is printed.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise NoCluster(
            f"{what} needs the package Ray, which cannot be imported ({error}). Install it with"
            " `pip install 'runfold[ray]'`."
        ) from error
    return ray


def _join(ray: Any, address: str | None) -> None:
    target = _find(address)
    options: dict[str, Any] = {}
    if target == _LOCAL:
        options = {"include_dashboard": False}
    else:
        _await_answer(target)
    try:
        with _keeping_handlers():
            ray.init(target, log_to_driver=False, logging_level=logging.ERROR, **options)
            # Otherwise, Ray prints a message on stdout when a node dies.
            ray._private.worker._worker_logs_enabled = False
    except Exception as error:
        with suppress(Exception):
            ray.shutdown()
        raise NoCluster(_explain(error, target)) from error


def _find(address: str | None) -> str:
    """Return the address of the cluster to join; "local" to start one.

    Raises NoCluster if the address is "auto", and no cluster is running on this machine.
    """
    if address is None or address == _AUTO:
        address = os.environ.get("RAY_ADDRESS") or address
    if address is not None and address != _AUTO:
        return address
    from ray._private import services

    find: Any = services.canonicalize_bootstrap_address
    try:
        # The last cluster that was started on this machine, which may have crashed.
        found: str | None = find(address)
    except ConnectionError:
        found = None
    if found is not None and _answers(*_split(found), _PATIENCE):
        return found
    if address == _AUTO:
        raise NoCluster(
            "There is no running Ray cluster on this machine. Start one with `ray start --head`,"
            " or leave out the address to start one for this process only."
        )
    return _LOCAL


def _await_answer(address: str) -> None:
    """Raise NoCluster if no cluster answers at an address."""
    host, port = _split(address)
    if not _answers(host, port, _PATIENCE):
        raise NoCluster(
            f"No Ray cluster answers at {_name(address)}. Check the address and whether the"
            " cluster is running (`ray status`), or start one with `ray start --head`."
        )


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise NoCluster(
            f"{_name(address)} is not the address of a Ray cluster. Use 'auto', 'host:port' such"
            " as '10.0.0.5:6379', or 'ray://host:port' such as 'ray://10.0.0.5:10001'."
        )
    return host.strip("[]"), int(port)


def _answers(host: str, port: int, seconds: float) -> bool:
    """Return whether a gRPC server, such as Ray's, answers at a port."""
    try:
        with socket.create_connection((host, port), seconds) as connection:
            if os.environ.get("RAY_USE_TLS", "0") not in ("0", ""):
                return True
            connection.settimeout(seconds)
            connection.sendall(_GREETING)
            header = b""
            while len(header) < _HEADER and (data := connection.recv(_HEADER - len(header))):
                header += data
            return len(header) == _HEADER and header[3] == _SETTINGS
    except (OSError, OverflowError):
        return False


@contextmanager
def _keeping_handlers() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces by one that exits."""
    if threading.current_thread() is not threading.main_thread():
        # Ray leaves handlers alone outside of the main thread, with a warning in its log.
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def _explain(error: Exception, target: str) -> str:
    where = "start on this machine" if target == _LOCAL else f"join the cluster at {_name(target)}"
    reason = " ".join(str(error).split()) or type(error).__name__
    versions = re.findall(r"Ray: (\S+)\s+Python: (\S+)", str(error))
    if len(versions) == 2:
        (ray, python), (own_ray, own_python) = versions
        return (
            f"Ray cannot {where}, because the cluster has Ray {ray} and Python {python}, and this"
            f" process has Ray {own_ray} and Python {own_python}. Install the same versions."
        )
    return f"Ray cannot {where}: {escape(reason)}"


def _is_connected_to(ray: Any, address: str | None) -> bool:
    """Return whether an address may be that of the cluster that this process uses."""
    if address in (None, _AUTO, _LOCAL) or "://" in address:
        return True
    host, port = _split(address)
    own_host, own_port = _split(_own_address(ray))
    return port == own_port and bool(_hosts(ray, host) & {own_host, *_hosts(ray, own_host)})


def _hosts(ray: Any, name: str) -> set[str]:
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
    except OSError:
        return {name}
    # Ray replaces the loopback address by another one of this machine.
    is_loopback = any(host.startswith("127.") or host == "::1" for host in found)
    return found | ({ray.util.get_node_ip_address()} if is_loopback else set())


def _own_address(ray: Any) -> str:
    return str(ray.get_runtime_context().gcs_address)


def _check_nodes(ray: Any) -> None:
    """Raise NoCluster if a node does not have this package in the same version.

    A node is checked once. A node that dies or does not start a process in time is left to the
    work itself, which is tried again on another node.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = {
        node["NodeID"]: node["NodeManagerAddress"]
        for node in ray.nodes()
        if node["Alive"] and node["NodeID"] not in _checked
    }
    if not nodes:
        return

    # A nested function travels by its code, so it runs on a node without the package.
    def find_version() -> str:
        try:
            import runfold
        except ImportError as error:
            return f"! {error}"
        return runfold.__version__

    task = ray.remote(num_cpus=0, max_retries=0)(find_version)
    answers = {
        task.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
        ).remote(): node
        for node in nodes
    }
    done, late = ray.wait(list(answers), num_returns=len(answers), timeout=_START)
    for answer in late:
        ray.cancel(answer, force=True)
    for answer in done:
        node = answers[answer]
        try:
            version = ray.get(answer)
        except ray.exceptions.RayError:
            continue
        if version != runfold.__version__:
            raise NoCluster(_explain_version(nodes[node], version))
        _checked.add(node)


def _explain_version(node: str, version: str) -> str:
    fact = (
        f"does not have the package runfold ({version[2:]})"
        if version.startswith("! ")
        else f"has runfold {version}, and this process has {runfold.__version__}"
    )
    return (
        f"Node {node} of the Ray cluster {fact}. Nothing was read. Install"
        f" runfold=={runfold.__version__} on every node."
    )


def _name(address: object) -> str:
    return f"'{escape(str(address))}'"
