"""The store of instances: one truth for threads and processes."""

import contextlib
import multiprocessing
import re
import sqlite3
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
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


def test_an_instance_is_kept_whole(store: Store) -> None:
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


def test_nobody_else_can_read_it(store: Store) -> None:
    store.add(LOGS, Options())
    folder = Path(store.folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_ids_prefixes_and_names_find_an_instance(store: Store) -> None:
    instances = [store.add(LOGS, Options()) for _ in range(50)]
    assert len({one.id for one in instances}) == len({one.name for one in instances}) == 50
    one = instances[7]
    others = [other.id for other in instances if other is not one]
    length = next(n for n in range(1, 9) if not any(id[:n] == one.id[:n] for id in others))
    for text in (one.id, one.id[:length], one.name, one.name.upper()):
        assert store.get(text) == one


def test_an_unknown_one_is_told_with_those_near(store: Store) -> None:
    with pytest.raises(UnknownInstance, match="There are none at all"):
        store.get("a")
    one = store.add(LOGS, Options())
    assert store.get(one.name[:4]) == one
    with pytest.raises(UnknownInstance, match=f"Did you mean '{one.name}'"):
        store.get(one.name + "x")
    there = re.escape(f"There are {one.id} ({one.name}).")
    for text in ("", "zz", "%", "'; drop table instances; --"):
        with pytest.raises(UnknownInstance, match=f"No TensorBoard instance .* {there}"):
            store.get(text)
    many = [store.add(LOGS, Options()) for _ in range(17)]
    first = next(a.id[0] for a in many if sum(a.id[0] == b.id[0] for b in many) > 1)
    with pytest.raises(UnknownInstance, match=f"Several instances begin with '{first}'"):
        store.get(first)


def test_the_same_sources_give_the_same_live_instance(store: Store) -> None:
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
    def open_one(number: int, **options: int) -> str:
        return open_instance(store, Sources((f"/logs/{number}",)), Options(), **options)[0].id

    ids = [open_one(number) for number in range(16)]
    message = "No TensorBoard was started: 16 are live, and the limit is 16. End one with"
    with pytest.raises(TooManyInstances, match=message):
        open_one(16)
    assert [one.id for one in store.all()] == ids
    # One that is there is opened, a higher limit is kept, and one that ends makes room.
    assert open_one(3) == ids[3]
    open_one(17, most=17)
    end_instance(store, ids[0])
    with pytest.raises(TooManyInstances):
        open_one(18)
    end_instance(store, ids[1])
    open_one(18)


def test_packs_are_refused_since_tensorboard_reads_none(store: Store, tmp_path: Path) -> None:
    pack, folder = tmp_path / "all.parquet", tmp_path / "parts"
    pack.touch()
    folder.mkdir()
    (folder / "_runfold.json").touch()
    with pytest.raises(OnlyPacks, match=r"no packs, as all.parquet, parts. `runfold unpack`"):
        open_instance(store, Sources((str(pack), str(folder))), Options())
    assert store.all() == []
    assert open_instance(store, Sources((str(pack), "/logs")), Options())[1]


def test_processes_that_ask_at_once_get_one_instance(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(4, context) as pool:
        answers = list(pool.map(claim, [store.folder] * 40, range(40)))
    assert len({id for id, _ in answers}) == 1
    assert sum(is_new for _, is_new in answers) == 1


def test_many_who_are_the_first_at_once_all_get_the_store(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def open_new(folder: Path) -> list[Any]:
        together.wait()
        with contextlib.closing(Store(str(folder))) as new:
            return new.live()

    with ThreadPoolExecutor(8) as pool:
        for number in range(50):
            assert list(pool.map(open_new, [tmp_path / str(number)] * 8)) == [[]] * 8


def test_two_stores_of_a_process_see_what_others_change(store: Store) -> None:
    other = Store(store.folder)
    context = multiprocessing.get_context("spawn")
    for number in range(1, 4):
        # Each in a process of its own, which closes the store in good order.
        with ProcessPoolExecutor(1, context) as pool:
            pool.submit(add, store.folder, f"/{number}").result()
        assert (len(store.all()), len(other.all())) == (number, number)
    other.close()


def test_what_has_ended_stays_so_and_is_not_live(store: Store) -> None:
    one = store.add(LOGS, Options())
    ended = store.update(one.id, state="TERMINATED", exit_status=-9)
    assert store.live() == []
    assert store.all() == [ended]
    assert end_instance(store, one.id) == ended


def test_every_change_gives_another_generation(store: Store) -> None:
    other = Store(store.folder)
    seen = [other.generation()]
    one = store.add(LOGS, Options())
    seen.append(other.generation())
    store.update(one.id, message="x")
    seen.append(other.generation())
    store.forget(one.id)
    seen.append(other.generation())
    assert len(set(seen)) == 4
    with pytest.raises(UnknownInstance):
        store.update(one.id, message="x")
    with pytest.raises(TypeError, match="key"):
        store.update(one.id, key="x")


def test_a_file_that_is_no_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "instances.sqlite").write_bytes(b"nonsense" * 1000)
    with pytest.raises(RunfoldError, match="Move it away to begin anew"):
        Store(str(tmp_path))
    (tmp_path / "instances.sqlite").unlink()
    with sqlite3.connect(tmp_path / "instances.sqlite") as database:
        database.execute("pragma user_version = 99")
    database.close()
    with pytest.raises(RunfoldError, match="another version of Runfold"):
        Store(str(tmp_path))


def test_a_log_is_read_from_either_end_and_over_its_beginning_anew(store: Store) -> None:
    one = store.add(LOGS, Options())
    assert list(read_log(store, one.id)) == []
    folder = Path(store.folder_of(one.id))
    folder.mkdir()
    (folder / "log.old.txt").write_text("1\n2\n")
    (folder / "log.txt").write_bytes(b"3\n\xff4\n")
    assert list(read_log(store, one.name)) == ["1", "2", "3", "\ufffd4"]
    assert list(read_log(store, one.id, head=3)) == ["1", "2", "3"]
    assert list(read_log(store, one.id, tail=3)) == ["2", "3", "\ufffd4"]
    followed = read_log(store, one.id, tail=0, follow=True)
    with open(folder / "log.txt", "a") as log:
        log.write("5\n6")
        log.flush()
        assert next(followed) == "5"
        log.truncate(0)
        log.write("\n7")
    store.update(one.id, state="TERMINATED")
    assert list(followed) == ["6", "7"]
    with pytest.raises(UnknownInstance):
        read_log(store, "nothing")


def test_the_first_and_last_lines_are_those_of_the_chosen_ones(store: Store) -> None:
    one = store.add(LOGS, Options())
    folder = Path(store.folder_of(one.id))
    folder.mkdir()
    (folder / "log.txt").write_text(
        "W0102 03:04:05.6 1\nE0102 03:04:05.6 2\n3\nI0102 03:04:05.6 4\n"
    )

    def grave(**asked: Any) -> Iterator[str]:
        lines = read_lines(store, one.id, is_wanted=lambda line: line.level != "info", **asked)
        return (line.text[-1] for line in lines)

    assert list(grave(head=2)) == ["1", "2"]
    assert list(grave(tail=1)) == ["3"]
    followed = grave(tail=1, follow=True)
    with open(folder / "log.txt", "a") as log:
        log.write("5\nE0102 03:04:05.6 6\n7\n")
    store.update(one.id, state="TERMINATED")
    assert list(followed) == ["3", "6", "7"]
