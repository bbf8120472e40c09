"""Runfold's and tbparse's SummaryReader return the same tables for the same files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import parsers, writers
from helpers.eventfiles import simple
from helpers.faultfiles import points, restart, version
from helpers.faultfiles import write as write_file
from helpers.logs import scalars, values, write
from helpers.parsers import EVERY, PLACES, assert_same, pair
from hypothesis import given, settings
from hypothesis import strategies as st

from runfold._events.value_encoding import (
    DTYPES,
    histogram,
    hparams_start,
    scalar,
    tensor,
    tensor_fields,
    text,
)

# tbparse uses deprecated pandas calls.
pytestmark = pytest.mark.filterwarnings(*parsers.OLD_WAYS)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory) -> Path:
    """Two runs per writer, each with a subfolder for a run with hparams."""
    folder = tmp_path_factory.mktemp("logs")
    for name, write_run in writers.WRITERS.items():
        for run in ("first", "second"):
            write_run(folder / name / run)
    return folder


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("columns", [*PLACES, EVERY], ids=lambda names: "+".join(sorted(names)))
def test_tables_of_all_writers_together_are_the_same(logdir, pivot, columns):
    assert_same(logdir, pivot=pivot, extra_columns=columns)


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("writer", list(writers.WRITERS))
def test_tables_of_a_run_and_of_a_file_are_the_same(logdir, writer, pivot):
    run = logdir / writer / "first"
    for path in (logdir / writer, run, *run.rglob("*tfevents*")):
        assert_same(path, pivot=pivot, extra_columns=EVERY)


INTEGER, FLOAT, FLAG = np.array(3), np.array(0.5, np.float32), np.array(True)
VALUES = {
    "float64": lambda tag: scalar(tag, 0.1, "double"),
    "integer": lambda tag: tensor(tag, INTEGER),
    "float": lambda tag: tensor(tag, FLOAT, "scalars"),
    "nan": lambda tag: tensor_fields(tag, np.array(np.nan)),
    "flag": lambda tag: tensor(tag, FLAG),
    "word": lambda tag: tensor(tag, np.array(b"word", object)),
    "vector": lambda tag: tensor(tag, np.arange(3.0)),
    "matrix": lambda tag: tensor(tag, np.ones((2, 2), np.int16)),
    "text": lambda tag: text(f"{tag}/text_summary", "a text"),
    "histogram": lambda tag: histogram(tag, 0, 2, 3, 4, 5, [1.0, 2.0], [1.0, 2.0]),
    "hparams": lambda tag: hparams_start({tag: True, "lr": 0.5, "name": tag}),
    "one hparam": lambda tag: hparams_start({"flag": True}),
}
EVENTS = st.one_of(
    st.builds(
        lambda tag, step, value: values(simple(tag, value), step=step),
        st.sampled_from(["a", "b", "B/é"]),
        st.integers(-1, 3),
        st.sampled_from([0.0, 1.5, np.nan, -np.inf]),
    ),
    st.builds(
        lambda kind, tag, step: values(VALUES[kind](f"{tag} {kind}"), step=step),
        # tbparse converts flags to numbers if another file has numbers.
        st.sampled_from([kind for kind in VALUES if kind != "flag"]),
        st.sampled_from("cd"),
        st.integers(-1, 3) | st.just(2**60),
    ),
)


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from(["one", "two", "two/below", "."]), st.lists(EVENTS, max_size=8), min_size=1
    ),
    st.booleans(),
    st.sampled_from([*PLACES, EVERY]),
)
def test_any_events_give_the_same_tables(tmp_path_factory, runs, pivot, columns):
    folder = tmp_path_factory.mktemp("any")
    for name, events in runs.items():
        write(folder / name, *events[::2])
        write(folder / name, *events[1::2], number=2)
    assert_same(folder, pivot=pivot, extra_columns=columns)


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("kind", list(VALUES))
def test_flag_with_another_value_in_its_file_gives_the_same_tables(tmp_path, kind, pivot):
    write(tmp_path, values(VALUES["flag"]("a")), values(VALUES[kind]("b")))
    assert_same(tmp_path, pivot=pivot, extra_columns=EVERY)


@pytest.mark.parametrize("shape", [(), (2,), (1, 2)])
@pytest.mark.parametrize("name", sorted(set(DTYPES) - {"bfloat16"}))
def test_tensors_of_every_type_are_the_same_arrays(tmp_path, name, shape):
    array = np.ones(shape, name)
    write(tmp_path, values(tensor(name, array)))
    theirs, ours = (reader.tensors["value"][0] for reader in pair(tmp_path))
    assert type(ours) is type(theirs)
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("pivot", [False, True])
def test_values_made_obsolete_by_a_restart_are_dropped(tmp_path, pivot):
    write_file(
        tmp_path / "events.out.tfevents.1", version(), points(0, 1, 2), restart(1), points(1)
    )
    assert_same(tmp_path, pivot=pivot, extra_columns={"file_name"})
    # In files without a version, a decreasing step marks a restart.
    write_file(tmp_path / "events.out.tfevents.2", points(0, 5, 6, 2))
    assert_same(tmp_path, pivot=pivot, extra_columns={"file_name"})


TEXT_OPTIONS = {
    "objects": ("future.infer_string", False),  # as before pandas 3
    "strings": ("mode.string_storage", "python"),
    "arrow": ("mode.string_storage", "pyarrow"),
}


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
@pytest.mark.parametrize("option", list(TEXT_OPTIONS))
@pytest.mark.parametrize("count", [1, 600])
def test_names_have_the_configured_pandas_text_type(tmp_path, count, option):
    for run, lengths in {"a": (count, count), "b/c": (count, 2 * count)}.items():
        for number, (tag, length) in enumerate(zip(("loss", "é"), lengths, strict=True)):
            series = scalars(tag, *((step, 0.5) for step in range(length)))
            write(tmp_path / run, series, number=number)
    with pd.option_context(*TEXT_OPTIONS[option]):
        assert_same(tmp_path, extra_columns={"dir_name"})


def test_folders_and_files_without_events_are_children_without_rows(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "readme.txt").write_text("events.out.tfevents")
    (tmp_path / "events.out.tfevents.1").write_bytes(b"")
    for pivot in (False, True):
        assert_same(tmp_path, pivot=pivot, extra_columns=EVERY)
    theirs, ours = pair(tmp_path)
    assert list(ours.children) == list(theirs.children)
    assert ours["empty"].children == {}
    assert ours["readme.txt"].log_path == theirs["readme.txt"].log_path
    assert repr(ours) == repr(theirs)


def test_folder_of_a_row_is_relative_to_the_reader(tmp_path):
    write(tmp_path / "a/b", values(simple("loss", 1.0)))
    for readers in (lambda top: [top, top["a"], top["a"]["b"]], lambda top: [top["a"], top]):
        theirs, ours = map(readers, pair(tmp_path, extra_columns={"dir_name"}))
        for reader, other in zip(ours, theirs, strict=True):
            assert reader.scalars.equals(other.scalars)
            assert reader.tags == other.tags


def test_only_the_requested_event_types_are_returned(logdir):
    theirs, ours = pair(logdir / "torch", event_types={"scalars", "text"})
    assert ours.tags == theirs.tags
    assert ours.scalars.equals(theirs.scalars)
    for reader in (theirs, ours):
        with pytest.raises(ValueError, match="event_type is ignored by user: tensors"):
            _ = reader.tensors
