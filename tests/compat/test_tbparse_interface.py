"""The rest of tbparse's interface: its arguments, raw events and histogram helpers."""

import logging

import numpy as np
import pytest
import tbparse
from helpers import parsers, writers
from helpers.accumulators import answer, plain
from helpers.logs import write
from helpers.parsers import pair
from hypothesis import given
from hypothesis import strategies as st

from runfold.compat import tbparse as compat
from runfold.compat.tbparse import SummaryReader

pytestmark = pytest.mark.filterwarnings(*parsers.OLD_WAYS)


def public(where) -> set[str]:
    return {name for name in vars(where) if not name.startswith("_")}


def test_every_public_name_exists():
    assert public(tbparse.SummaryReader) == public(SummaryReader)
    assert set(tbparse.__all__) <= set(compat.__all__)
    assert compat.__version__ == tbparse.__version__
    for name in ("ALL_EVENT_TYPES", "REDUCED_EVENT_TYPES", "ALL_EXTRA_COLUMNS"):
        assert getattr(compat.summary_reader, name) == getattr(tbparse.summary_reader, name)


@pytest.mark.parametrize("writer", list(writers.WRITERS))
def test_raw_tags_and_events_match_tensorboard(writer, tmp_path):
    writers.WRITERS[writer](tmp_path)
    for file in tmp_path.rglob("*tfevents*"):
        theirs, ours = pair(file)
        assert ours.raw_tags == ours.get_raw_tags() == theirs.raw_tags
        assert plain(ours.raw_events) == plain(theirs.raw_events)
        for event_type, tags in theirs.raw_events.items():
            assert ours.get_raw_tags(event_type) == theirs.get_raw_tags(event_type)
            assert plain(ours.get_raw_events(event_type)) == plain(tags)
            for tag, events in tags.items():
                assert plain(ours.get_raw_events(event_type, tag)) == plain(events)
            for reader in (theirs, ours):
                assert answer(reader.get_raw_events, event_type, "no such tag")[0] is KeyError


def test_raw_events_need_a_single_file(tmp_path):
    for reader in pair(tmp_path):
        for ask in (reader.get_raw_events, reader.get_raw_tags):
            assert answer(ask) == (ValueError, answer(ask)[1])
        with pytest.raises(ValueError, match="Not an event file"):
            _ = reader.raw_tags


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (ValueError, {"extra_columns": ["dir_name"]}),
        (KeyError, {"extra_columns": {"dirname"}}),
        (ValueError, {"event_types": ["scalars"]}),
        (KeyError, {"event_types": {"scalar"}}),
        (ValueError, {"log_path": "no such folder"}),
    ],
)
def test_wrong_arguments_raise_the_same_errors_as_tbparse(error, arguments, tmp_path):
    for reader in (tbparse.SummaryReader, SummaryReader):
        with pytest.raises(error):
            reader(**({"log_path": str(tmp_path)} | arguments))


def test_wrong_names_raise_the_same_errors_as_tbparse_with_close_matches(tmp_path):
    write(tmp_path)
    theirs, ours = pair(next(tmp_path.iterdir()))
    for reader in (theirs, ours):
        for ask in (reader.get_events, reader.get_tags, reader.get_raw_tags):
            assert answer(ask, "scalar")[0] is ValueError
        assert answer(reader.get_raw_events, "scalar")[0] is KeyError
        assert answer(reader.get_raw_events, None, "loss")[0] is ValueError
        with pytest.raises(KeyError):
            _ = reader["no such child"]
    with pytest.raises(ValueError, match="Did you mean 'scalars'"):
        ours.get_events("scalar")
    with pytest.raises(KeyError, match="Did you mean 'dir_name'"):
        SummaryReader(tmp_path, extra_columns={"dirname"})


def test_files_are_read_on_request(tmp_path, caplog):
    (tmp_path / "events.out.tfevents.1").write_bytes(b"no event file, and long enough to tell")
    with caplog.at_level(logging.WARNING, "tensorboard"):
        reader = SummaryReader(tmp_path)
        assert list(reader.children) == ["events.out.tfevents.1"]
        assert not caplog.records
        assert reader.scalars.empty
        assert len(caplog.records) == 1


COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)


@given(COUNTS, st.data())
def test_histograms_give_the_same_distributions(counts, data):
    count = len(counts)
    edges = sorted(data.draw(st.sets(st.integers(-20, 20), min_size=count + 1, max_size=count + 1)))
    x = np.array(sorted(data.draw(st.sets(st.floats(-25, 25, width=16), min_size=2))))
    rows = np.array([edges[:-1], edges[1:], counts], np.float64).T
    theirs, ours = (package.SummaryReader for package in (tbparse, compat))
    histogram = ours.tensor_to_histogram(rows)
    assert plain(numbers(histogram)) == plain(numbers(theirs.tensor_to_histogram(rows)))
    assert plain(numbers(ours.buckets_to_histogram_dict(rows))) == plain(numbers(histogram))
    given = histogram["counts"], histogram["limits"]
    np.testing.assert_allclose(
        ours.histogram_to_cdf(*given, x), theirs.histogram_to_cdf(*given, x), atol=1e-12
    )
    for values, other in zip(
        ours.histogram_to_pdf(*given, x), theirs.histogram_to_pdf(*given, x), strict=True
    ):
        np.testing.assert_allclose(values, other, rtol=1e-6, atol=1e-6)
    for bounds in ((), (edges[0], edges[-1]), (2, 2, 7), (-3.5, 4.25, 11)):
        np.testing.assert_allclose(
            ours.histogram_to_bins(*given, *bounds),
            theirs.histogram_to_bins(*given, *bounds),
            atol=1e-9,
        )


def numbers(histogram):
    return {name: np.asarray(value, np.float64).tolist() for name, value in histogram.items()}
