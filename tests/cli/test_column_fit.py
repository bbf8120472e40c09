"""The columns of a wide table that fit the window."""

from hypothesis import given
from hypothesis import strategies as st

from runfold._cli.column_fit import fit_columns
from runfold._cli.terminal import Column, format_table
from runfold._humanize import cell_width


def lines(columns, rows, ranks, limit):
    fitting = fit_columns(columns, rows, ranks, limit)
    return format_table(list(fitting.columns.values()), fitting.rows, limit)


RUN = Column("run", is_name=True)


def test_lower_ranks_come_first_and_the_order_stays():
    columns = [RUN, *(Column(name, is_number=True) for name in ("start", "loss", "best"))]
    rows = [["seed-1", "2026-01-31", "0.12345", "0.1"]]
    assert lines(columns, rows, [0, 2, 1, 0], 30) == [
        "run        loss  best",
        "seed-1  0.12345   0.1",
    ]
    assert lines(columns, rows, [0, 0, 0, 0], 34) == [
        "run          start     loss  best",
        "seed-1  2026-01-31  0.12345   0.1",
    ]


def test_texts_and_then_headings_shrink_before_a_column_is_dropped():
    columns = [RUN, Column("note", may_shrink=True), Column("validation/accuracy", is_number=True)]
    rows = [["seed-1", "a long story of what was tried", "0.5"]]
    assert lines(columns, rows, [0, 0, 0], 40) == [
        "run     note         validation/accuracy",
        "seed-1  a l…s tried                  0.5",
    ]
    assert lines(columns, rows, [0, 0, 0], 30) == [
        "run     note      val…accuracy",
        "seed-1  a …tried           0.5",
    ]


WORD = st.text("ab/漢é", max_size=40)


@given(
    st.lists(st.tuples(st.text("ab/漢", min_size=1, max_size=30), st.booleans()), max_size=8),
    st.data(),
)
def test_the_result_is_never_too_wide(heads, data):
    columns = [RUN] + [
        Column(heading, is_number=is_number, may_shrink=not is_number)
        for heading, is_number in heads
    ]
    rows = data.draw(st.lists(st.lists(WORD, min_size=len(columns), max_size=len(columns))))
    ranks = data.draw(st.lists(st.integers(0, 2), min_size=len(columns), max_size=len(columns)))
    limit = data.draw(st.integers(24, 120))
    assert max(map(cell_width, lines(columns, rows, ranks, limit))) <= limit
