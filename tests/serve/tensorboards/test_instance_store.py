"""The instance store, shared by threads and processes."""

import contextlib
import json
import multiprocessing
import os
import re
import sqlite3
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_requests import (
    OnlyPacks,
    end_instance,
    open_instance,
    read_lines,
    read_log,
)
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Store, TooManyInstances, UnknownInstance
from runfold._serve.tensorboards.process_files import Address
from runfold.errors import RunfoldError

LOGS = Sources(("/logs",))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "boards"))


def claim(folder: str, number: int) -> tuple[str, bool]:
    store = Store(folder)
    instance, is_new = open_instance(store, LOGS, Options())
    store.close()
    return instance.id, is_new


def add(folder: str, logs: str) -> None:
    store = Store(folder)
    store.add(Sources((logs,)), Options())
    store.close()


def test_an_instance_is_stored_completely(store: Store) -> None:
    sources = Sources(("/a b",), ("x'\"", "é/y"), ("z",), "lr < 1")
    options = Options((("window_title", "a=b"),), 7.0)
    added = store.add(sources, options, "for Ada")
    assert (added.state, added.wanted, added.restarts) == ("STARTING", "up", 0)
    assert (added.sources, added.options, added.description) == (sources, options, "for Ada")
    assert len(added.id) == 8
    assert "-" in added.name
    assert added.key not in repr(added)
    updated = store.update(added.id, state="RUNNING", pid=5, port=6)
    assert Store(store.folder).get(added.id) == updated
    assert (updated.state, updated.pid, updated.port) == ("RUNNING", 5, 6)


def test_the_address_of_an_instance_is_stored(store: Store) -> None:
    added = store.add(LOGS, Options(cluster="10.0.0.5:6379"))
    assert (added.options.cluster, added.address, added.node) == ("10.0.0.5:6379", None, "")
    address = Address(6, "10.0.0.7", "a certificate", "gpu-7 (10.0.0.7)")
    assert store.update(added.id, **asdict(address)).address == address
    assert store.get(added.id).address == address


def test_an_address_on_another_machine_has_a_certificate() -> None:
    with pytest.raises(ValueError, match="must be encrypted"):
        Address(6, "10.0.0.7")


def test_a_store_of_the_previous_version_is_kept(store: Store) -> None:
    added = store.add(LOGS, Options())
    updated = store.update(added.id, port=6, state="RUNNING")
    store.close()
    path = os.path.join(store.folder, "instances.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for column in ("host", "certificate", "node"):
            database.execute(f"alter table instances drop column {column}")
        options = json.dumps({"flags": [], "idle_timeout": 1800.0, "description": ""})
        database.execute("update instances set options = ?", (options,))
        database.execute("pragma user_version = 1")
    for _ in range(2):
        with closing(Store(store.folder)) as opened:
            assert opened.all() == [updated]
            assert opened.all()[0].address == Address(6)


def test_other_users_cannot_read_it(store: Store) -> None:
    store.add(LOGS, Options())
    folder = Path(store.folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_ids_prefixes_and_names_find_an_instance(store: Store) -> None:
    instances = [store.add(LOGS, Options()) for _ in range(50)]
    assert (
        len({instance.id for instance in instances})
        == len({instance.name for instance in instances})
        == 50
    )
    instance = instances[7]
    others = [other.id for other in instances if other is not instance]
    length = next(n for n in range(1, 9) if not any(id[:n] == instance.id[:n] for id in others))
    for text in (instance.id, instance.id[:length], instance.name, instance.name.upper()):
        assert store.get(text) == instance


def test_an_unknown_instance_is_reported_with_near_matches(store: Store) -> None:
    with pytest.raises(UnknownInstance, match="There are no instances"):
        store.get("a")
    instance = store.add(LOGS, Options())
    assert store.get(instance.name[:4]) == instance
    with pytest.raises(UnknownInstance, match=f"Did you mean '{instance.name}'"):
        store.get(instance.name + "x")
    existing = re.escape(f"Available: {instance.id} ({instance.name}).")
    for text in ("", "zz", "%", "'; drop table instances; --"):
        with pytest.raises(UnknownInstance, match=f"No TensorBoard instance .* {existing}"):
            store.get(text)
    many = [store.add(LOGS, Options()) for _ in range(17)]
    first = next(a.id[0] for a in many if sum(a.id[0] == b.id[0] for b in many) > 1)
    with pytest.raises(UnknownInstance, match=f"Several instances start with '{first}'"):
        store.get(first)


def test_the_same_sources_return_the_same_live_instance(store: Store) -> None:
    first, is_new = open_instance(store, LOGS, Options(), "one")
    assert is_new
    assert open_instance(store, LOGS, Options(description="two")) == (first, False)
    assert open_instance(store, LOGS, Options(idle_timeout=5))[1]
    assert open_instance(store, Sources(("/logs",), runs=("a",)), Options())[1]
    ending = end_instance(store, first.name)
    assert (ending.wanted, ending.state) == ("down", "TERMINATING")
    another, is_new = open_instance(store, LOGS, Options())
    assert is_new
    assert another.id != first.id


def test_rule_36_instances_have_a_limit_that_can_be_raised(store: Store) -> None:
    def open_numbered(number: int, **options: int) -> str:
        return open_instance(store, Sources((f"/logs/{number}",)), Options(), **options)[0].id

    ids = [open_numbered(number) for number in range(16)]
    message = "No TensorBoard was started: 16 are live, and the limit is 16. End one with"
    with pytest.raises(TooManyInstances, match=message):
        open_numbered(16)
    assert [instance.id for instance in store.all()] == ids
    # An existing instance is returned, a higher limit applies, and an ended instance makes room.
    assert open_numbered(3) == ids[3]
    open_numbered(17, most=17)
    end_instance(store, ids[0])
    with pytest.raises(TooManyInstances):
        open_numbered(18)
    end_instance(store, ids[1])
    open_numbered(18)


def test_packs_are_refused_because_tensorboard_cannot_read_them(
    store: Store, tmp_path: Path
) -> None:
    pack, folder = tmp_path / "all.parquet", tmp_path / "parts"
    pack.touch()
    folder.mkdir()
    (folder / "_runfold.json").touch()
    message = r"not packs such as all.parquet, parts. Restore the event files with `runfold unpack`"
    with pytest.raises(OnlyPacks, match=message):
        open_instance(store, Sources((str(pack), str(folder))), Options())
    assert store.all() == []
    assert open_instance(store, Sources((str(pack), "/logs")), Options())[1]


def test_concurrent_processes_get_the_same_instance(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(4, context) as pool:
        results = list(pool.map(claim, [store.folder] * 40, range(40)))
    assert len({id for id, _ in results}) == 1
    assert sum(is_new for _, is_new in results) == 1


def test_many_threads_can_create_the_store_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def open_new(folder: Path) -> list[Any]:
        together.wait()
        with contextlib.closing(Store(str(folder))) as new:
            return new.live()

    with ThreadPoolExecutor(8) as pool:
        for number in range(50):
            assert list(pool.map(open_new, [tmp_path / str(number)] * 8)) == [[]] * 8


def test_two_stores_in_a_process_see_changes_by_others(store: Store) -> None:
    other = Store(store.folder)
    context = multiprocessing.get_context("spawn")
    for number in range(1, 4):
        # Each instance is added in a separate process, which closes the store properly.
        with ProcessPoolExecutor(1, context) as pool:
            pool.submit(add, store.folder, f"/{number}").result()
        assert (len(store.all()), len(other.all())) == (number, number)
    other.close()


def test_an_ended_instance_stays_ended_and_is_not_live(store: Store) -> None:
    instance = store.add(LOGS, Options())
    ended = store.update(instance.id, state="TERMINATED", exit_status=-9)
    assert store.live() == []
    assert store.all() == [ended]
    assert end_instance(store, instance.id) == ended


def test_every_change_increases_the_generation(store: Store) -> None:
    other = Store(store.folder)
    generations = [other.generation()]
    instance = store.add(LOGS, Options())
    generations.append(other.generation())
    store.update(instance.id, message="x")
    generations.append(other.generation())
    store.forget(instance.id)
    generations.append(other.generation())
    assert len(set(generations)) == 4
    with pytest.raises(UnknownInstance):
        store.update(instance.id, message="x")
    with pytest.raises(TypeError, match="key"):
        store.update(instance.id, key="x")


def test_an_invalid_store_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "instances.sqlite").write_bytes(b"nonsense" * 1000)
    with pytest.raises(RunfoldError, match="Move this file away to start from scratch"):
        Store(str(tmp_path))
    (tmp_path / "instances.sqlite").unlink()
    with sqlite3.connect(tmp_path / "instances.sqlite") as database:
        database.execute("pragma user_version = 99")
    database.close()
    with pytest.raises(RunfoldError, match="another version of Runfold"):
        Store(str(tmp_path))


def test_a_log_is_read_from_either_end_and_across_a_truncation(store: Store) -> None:
    instance = store.add(LOGS, Options())
    assert list(read_log(store, instance.id)) == []
    folder = Path(store.folder_of(instance.id))
    folder.mkdir()
    (folder / "log.old.txt").write_text("1\n2\n")
    (folder / "log.txt").write_bytes(b"3\n\xff4\n")
    assert list(read_log(store, instance.name)) == ["1", "2", "3", "\ufffd4"]
    assert list(read_log(store, instance.id, head=3)) == ["1", "2", "3"]
    assert list(read_log(store, instance.id, tail=3)) == ["2", "3", "\ufffd4"]
    followed = read_log(store, instance.id, tail=0, follow=True)
    with open(folder / "log.txt", "a") as log:
        log.write("5\n6")
        log.flush()
        assert next(followed) == "5"
        log.truncate(0)
        log.write("\n7")
    store.update(instance.id, state="TERMINATED")
    assert list(followed) == ["6", "7"]
    with pytest.raises(UnknownInstance):
        read_log(store, "nothing")


def test_head_and_tail_count_only_matching_lines(store: Store) -> None:
    instance = store.add(LOGS, Options())
    folder = Path(store.folder_of(instance.id))
    folder.mkdir()
    (folder / "log.txt").write_text(
        "W0102 03:04:05.6 1\nE0102 03:04:05.6 2\n3\nI0102 03:04:05.6 4\n"
    )

    def read_problems(**options: Any) -> Iterator[str]:
        lines = read_lines(
            store, instance.id, is_wanted=lambda line: line.level != "info", **options
        )
        return (line.text[-1] for line in lines)

    assert list(read_problems(head=2)) == ["1", "2"]
    assert list(read_problems(tail=1)) == ["3"]
    followed = read_problems(tail=1, follow=True)
    with open(folder / "log.txt", "a") as log:
        log.write("5\nE0102 03:04:05.6 6\n7\n")
    store.update(instance.id, state="TERMINATED")
    assert list(followed) == ["3", "6", "7"]
