"""Runfold's and TensorBoard's EventAccumulator return the same results for the same files."""

import numpy as np
import pytest
from helpers import writers
from helpers.accumulators import EVERYTHING, answer, pair, read_answers
from helpers.eventfiles import event, field, simple
from helpers.faultfiles import append, points, restart, version, write
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing import event_accumulator as original
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

from runfold._core.encoder import FLOAT64_FIELD, frame
from runfold.compat.tensorboard import EventAccumulator

NAME = "events.out.tfevents.17"
SMALL = {"scalars": 3, "histograms": 2, "distributions": 2, "images": 1, "audio": 3, "tensors": 2}

HISTOGRAM = field(1, 1.0) + field(2, 2.0) + field(3, 3.0)
HISTOGRAM += field(6, np.array([1.0, 2.0]).tobytes()) + field(7, np.array([1.0, 2.0]).tobytes())
FORMS = {
    "float64": simple("", 0.1)[2:] + field(FLOAT64_FIELD, 0.1),
    "image": field(4, field(1, 3) + field(2, 2) + field(4, b"png")),
    "histogram": field(5, HISTOGRAM),
    "audio": field(6, field(3, 5) + field(4, b"wav") + field(5, b"audio/wav")),
    "tensor": field(8, field(1, 1) + field(4, b"\0\0\0\0")),
    "metadata": field(9, field(1, field(1, b"text") + field(2, b"content"))),
    "nothing": b"",
}


def value(tag: str, form: str) -> bytes:
    return simple(tag, 0.5) if form == "scalar" else field(1, tag.encode()) + FORMS[form]


# Records from any writer, in any order.
VALUES = st.builds(value, st.sampled_from(["a", "b", ""]), st.sampled_from(["scalar", *FORMS]))
STEPS = st.integers(-1, 6)
RECORDS = st.one_of(
    st.builds(lambda values, step: frame(event(*values, step=step)), st.lists(VALUES), STEPS),
    st.builds(lambda step: frame(event(value("a", "scalar"), step=step)), STEPS),
    st.builds(restart, STEPS),
    st.builds(
        lambda number, step: frame(field(2, step) + field(3, b"brain.Event:%d" % number)),
        st.sampled_from([1, 2]),
        STEPS,
    ),
    st.builds(lambda step: frame(field(2, step) + field(4, b"")), STEPS),
    st.just(frame(field(3, b"no version"))),
    st.just(frame(b"")),
    st.just(version()),
)


@given(
    st.lists(st.lists(RECORDS, max_size=20), min_size=1, max_size=3),
    st.sampled_from([EVERYTHING, SMALL]),
    st.booleans(),
)
def test_any_records_give_the_same_results(tmp_path_factory, stretches, sizes, purges):
    folder = tmp_path_factory.mktemp("any")
    both = pair(folder, sizes, purge_orphaned_data=purges)
    for number, records in enumerate(stretches):
        # The second stretch continues the first file; the third is a separate file.
        append(folder / f"{NAME}.{number // 2}", *records)
        theirs, ours = (read_answers(accumulator.Reload()) for accumulator in both)
        assert ours == theirs


@pytest.fixture(scope="module", params=list(writers.WRITERS))
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    writers.WRITERS[request.param](folder)
    return folder


@pytest.mark.parametrize("sizes", [None, original.DEFAULT_SIZE_GUIDANCE, SMALL])
def test_files_of_every_writer_give_the_same_results(folder, sizes):
    theirs, ours = pair(folder, sizes)
    assert read_answers(ours.Reload()) == read_answers(theirs.Reload())


def test_a_single_file_can_be_opened_instead_of_its_folder(folder):
    for file in folder.glob("*tfevents*"):
        theirs, ours = pair(file)
        assert read_answers(ours.Reload()) == read_answers(theirs.Reload())


@pytest.mark.parametrize("size", [1, 10, 999, 1000, 2000])
def test_sample_matches_tensorboard(size, tmp_path):
    write(tmp_path / NAME, version(), points(*range(700)), restart(650), points(*range(650, 1700)))
    theirs, ours = pair(tmp_path, {"scalars": size})
    assert read_answers(ours.Reload()) == read_answers(theirs.Reload())
    assert len(ours.Scalars("loss")) == min(size, 1700)


def test_everything_is_kept_by_default(tmp_path):
    write(tmp_path / NAME, version(), points(*range(10_500)))
    for sizes in (None, {}, {"images": 4}, {"scalars": 0}):
        assert len(EventAccumulator(str(tmp_path), sizes).Reload().Scalars("loss")) == 10_500


def test_growing_file_is_continued_and_old_events_stay_the_same_objects(tmp_path):
    file = tmp_path / NAME
    write(file, version(), points(0, 1))
    both = pair(tmp_path)
    first = both[1].Reload().Scalars("loss")
    torn = points(2, 3)
    append(file, torn[:-5])
    assert read_answers(both[1].Reload()) == read_answers(both[0].Reload())
    append(file, torn[-5:])
    write(tmp_path / f"{NAME}.2", version(), points(4))
    assert read_answers(both[1].Reload()) == read_answers(both[0].Reload())
    events = both[1].Scalars("loss")
    assert [event.step for event in events] == [0, 1, 2, 3, 4]
    assert all(event is other for event, other in zip(events, first, strict=False))


def test_the_last_graph_and_source_are_used(tmp_path):
    meta = MetaGraphDef()
    meta.graph_def.node.add(name="of the meta graph")
    records = [version()]
    both = pair(tmp_path)
    for number in range(4):
        content = [Event(meta_graph_def=meta.SerializeToString()), Event(graph_def=b"\x0a\0")]
        message = content[number % 2]
        message.source_metadata.writer = f"writer {number}" if number < 3 else "x" * 129
        records.append(frame(message.SerializeToString()))
        write(tmp_path / NAME, *records)
        both = pair(tmp_path)
        theirs, ours = (read_answers(accumulator.Reload()) for accumulator in both)
        assert ours == theirs
    assert both[1].SerializedGraph() == both[0].Graph().SerializeToString()


def test_tensors_without_a_tag_are_named_after_their_node(tmp_path):
    nodes = [field(7, name) + FORMS["tensor"] for name in (b"x", b"y", b"x", b"")]
    named = field(1, b"y") + FORMS["tensor"]
    records = [frame(event(tensor, step=1)) for tensor in [*nodes, named]]
    write(tmp_path / NAME, version(), *records)
    theirs, ours = pair(tmp_path)
    assert read_answers(ours.Reload()) == read_answers(theirs.Reload())
    assert ours.Tags()["tensors"] == ["x", "y", ""]


def test_first_timestamp_is_available_before_reload(tmp_path):
    write(tmp_path / NAME, version(5.0), points(0))
    theirs, ours = pair(tmp_path)
    assert ours.FirstEventTimestamp() == theirs.FirstEventTimestamp() == 5.0
    assert ours.Tags() == theirs.Tags()
    assert read_answers(ours.Reload()) == read_answers(theirs.Reload())


def test_empty_folder_is_read_once_it_has_files(tmp_path):
    both = pair(tmp_path)
    for accumulator in both:
        assert answer(accumulator.FirstEventTimestamp)[0] is ValueError
    assert read_answers(both[1].Reload()) == read_answers(both[0].Reload())
    (tmp_path / NAME).touch()
    (tmp_path / f"{NAME}.profile-empty").touch()
    assert read_answers(both[1].Reload()) == read_answers(both[0].Reload())
    write(tmp_path / NAME, version(), points(0))
    assert read_answers(both[1].Reload()) == read_answers(both[0].Reload())
