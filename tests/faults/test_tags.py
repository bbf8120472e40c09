"""Strange tags are shown safely and stay distinct."""

import numpy as np
import pytest
from helpers.eventfiles import WALL_TIME, field, loss, points, record, scalar, scalars, simple

from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values

LOUD = "a\x1b[2Jb\x00c\u202ed\n\x07"
QUIET = r"a\x1b[2Jb\x00c\u202ed\n\x07"


def views(log) -> list[str]:
    """Return everything that shows the run's tags."""
    run = log.runs["bad"]
    shown = [repr(log.runs), log.runs._repr_html_(), repr(run), run._repr_html_()]
    return shown + [repr(run[tag]) for tag in run]


@pytest.mark.fault(21)
def test_tags_that_are_not_utf8_stay_distinct_from_each_other_and_from_escapes(faulty_log):
    """b"a\\xff", b"a\\xfe", and a tag with a literal backslash."""
    tags = [b"a\xff", b"a\xfe", b"a\\xff"]
    once = b"".join(record(simple(tag, n), step=n) for n, tag in enumerate(tags))
    log = faulty_log(once, once)
    found = points(log.runs, "bad")
    assert list(found.values()) == [[(n, float(n))] * 2 for n in range(3)]
    assert list(found)[:2] == ["a\\xff", "a\\xfe"]
    log.check(found, [("invalid-utf8-tag", None)] * 2)
    messages = log.runs.problems()["message"].tolist()
    assert r"(tag 'a\xff')" in messages[0]
    assert r"(tag 'a\xfe')" in messages[1]
    long = log.runs.scalars(runs="bad")
    assert long.groupby("tag", observed=True).size().tolist() == [2, 2, 2]


@pytest.mark.fault(21)
def test_tag_names_do_not_change_when_more_tags_appear(faulty_log):
    log = faulty_log(record(simple(b"a\xff", 1)))
    before = points(log.runs, "bad")
    log.append(record(simple(b"a\\xff", 2)), record(simple(b"a\xff", 3)))
    after = points(log.runs, "bad")
    assert after[next(iter(before))] == [(0, 1.0), (0, 3.0)]
    assert len(after) == 2


@pytest.mark.fault(21)
def test_tag_of_a_skipped_event_is_not_reported(faulty_log):
    log = faulty_log(record(simple(b"\xff", 1), b"\xff"), scalars(1))
    log.check(loss(1), [("malformed-event", 0)])


@pytest.mark.fault(22)
def test_empty_tag_is_a_tag(faulty_log):
    absent = simple("", 2)[len(field(1, b"")) :]
    log = faulty_log(record(simple("", 1), step=1), record(absent, step=2), scalars(3))
    log.check({"": [(1, 1.0), (2, 2.0)], **loss(3)})
    assert log.runs["bad"][""].steps.tolist() == [1, 2]
    assert views(log)


@pytest.mark.fault(22)
def test_empty_tag_is_not_mixed_up_with_the_graph_which_has_no_tag(faulty_log):
    buffer = EventBuffer()
    buffer.graph(b"", WALL_TIME)
    log = faulty_log(record(simple("", 1), step=1), buffer.getvalue())
    log.check({"": [(1, 1.0)]})
    assert len(log.runs.graphs()) == 1


@pytest.mark.fault(23)
def test_tag_of_a_megabyte_is_complete_in_data_and_short_in_views(faulty_log):
    tag = "x" * (1 << 20)
    log = faulty_log(scalar(tag, 1), scalar(tag, 2))
    log.check({tag: [(1, 1.0), (2, 2.0)]})
    assert max(map(len, views(log))) < 2000
    assert "1,048,576 characters" in repr(log.runs["bad"])
    assert log.runs.scalars(tags="x*")["tag"].cat.categories.tolist() == [tag]
    with pytest.raises(KeyError) as raised:
        log.runs["bad"][tag + "y"]
    assert len(str(raised.value)) < 2000


@pytest.mark.fault(23)
def test_problem_about_a_tag_of_a_megabyte_is_short(faulty_log):
    unequal = field(1, b"x" * (1 << 20)) + field(5, field(6, bytes(8)))
    log = faulty_log(record(unequal), record(simple(b"\xff" * (1 << 20), 1)))
    assert [code for code, _ in log.notes()] == ["bad-histogram", "invalid-utf8-tag"]
    assert log.runs.problems()["message"].str.len().max() < 500


@pytest.mark.fault(23)
def test_control_direction_and_nul_characters_are_kept_and_shown_escaped(faulty_log):
    log = faulty_log(scalar(LOUD, 1))
    log.check({LOUD: [(1, 1.0)]})
    for view in views(log):
        assert not set(view) & set("\x1b\x00\u202e\x07")
    assert QUIET in repr(log.runs["bad"])
    assert QUIET in log.runs["bad"]._repr_html_()
    assert QUIET in repr(log.runs["bad"][LOUD])


@pytest.mark.fault(24)
@pytest.mark.parametrize("tag", ["__proto__", "constructor", "toString", "hasOwnProperty"])
def test_unusual_tags_work_like_any_other(faulty_log, tag):
    log = faulty_log(scalar(tag, 1), record(values.text(tag + "/text", "hi")))
    log.check({tag: [(1, 1.0)]})
    assert log.runs["bad"].tags == {"scalar": [tag], "text": [tag + "/text"]}
    assert tag in log.runs["bad"]._repr_html_()
    assert log.runs.scalars(wide=True, runs="bad").columns.tolist() == [tag]


@pytest.mark.fault(24)
def test_tag_that_looks_like_html_is_text(faulty_log):
    log = faulty_log(scalar("<script>alert(1)</script>", 1))
    for html in (log.runs._repr_html_(), log.runs["bad"]._repr_html_()):
        assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in log.runs["bad"]._repr_html_()


@pytest.mark.fault(25)
def test_two_kinds_under_the_same_tag_are_both_kept_and_reported(faulty_log):
    histogram = values.histogram("loss", 0, 1, 2, 1, 1, [0.5, 1.0], [1, 1])
    log = faulty_log(scalars(1), record(histogram, step=2), scalars(3))
    log.check(loss(1, 3), [("two-kinds", None)])
    assert log.runs["bad"].tags == {"scalar": ["loss"], "histogram": ["loss"]}
    assert log.runs.histograms()["step"].tolist() == [2]
    assert "(tag 'loss': scalar and histogram)" in log.runs.problems()["message"].item()


@pytest.mark.fault(25)
@pytest.mark.parametrize("scalar_is_first", [True, False])
def test_tensors_with_their_own_plugins_are_kept_separate(faulty_log, scalar_is_first):
    """TensorFlow 2 writes a scalar and a histogram that share a tag like this."""
    buffer = EventBuffer()
    buffer.scalar_tensor("loss", 1, 1, WALL_TIME)
    buffer.scalar_tensor("loss", 3, 3, WALL_TIME)
    histogram = record(values.histogram_tensor("loss", [[0, 1, 2]]), step=2)
    pieces = [buffer.getvalue(), histogram]
    log = faulty_log(*(pieces if scalar_is_first else reversed(pieces)))
    log.check(loss(1, 3), [("two-kinds", None)])
    run = log.runs["bad"]
    assert run.points == 3
    assert run.histograms()["counts"].item().tolist() == [2]


@pytest.mark.fault(25)
def test_tensors_of_two_other_plugins_are_kept_separate(faulty_log):
    log = faulty_log(
        record(values.text("x", "words"), step=1),
        record(values.histogram_tensor("x", [[0, 1, 2]]), step=2),
        record(values.text("x", "more"), step=3),
    )
    log.check({}, [("two-kinds", None)])
    assert log.runs.text()["text"].tolist() == ["words", "more"]
    assert log.runs.histograms()["step"].tolist() == [2]


@pytest.mark.fault(25)
def test_two_kinds_of_tensors_under_the_same_tag_are_both_kept_and_reported(faulty_log):
    log = faulty_log(
        record(values.text("x", "words"), step=1),
        record(values.image("x", 1, 1, 3, b"not decoded here"), step=2),
    )
    log.check({}, [("two-kinds", None)])
    assert log.runs.text()["step"].tolist() == [1]
    assert log.runs.images()["step"].tolist() == [2]


@pytest.mark.fault(25)
def test_a_tag_with_different_kinds_in_different_runs_is_not_a_fault(faulty_log):
    log = faulty_log(record(values.tensor("loss", np.arange(3.0)), step=1))
    log.check({})
    assert log.runs.tags == {"tensor": ["loss"], "scalar": ["loss"]}
