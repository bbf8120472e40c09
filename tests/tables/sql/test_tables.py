"""The exact contents of each table of `runs.sql`."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.logs import scalars, values, write
from helpers.sql_logs import HUGE, PICTURE, open_logdir

import runfold as rf
from runfold._events import value_encoding as encode
from runfold._tables.frames.frame import Table
from runfold._tables.sql.schema import TABLES
from runfold.errors import BadLog, LogdirNotFound

ODD = "odd 'run'\n😀"


@pytest.fixture
def runs(tmp_path: Path) -> rf.Runs:
    return open_logdir(tmp_path)


def rows(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(table.itertuples(index=False, name=None))


def test_example_query(runs: rf.Runs):
    found = runs.sql("select run, min(value) from scalars where tag = 'val/loss' group by run")
    assert type(found) is Table
    assert sorted(rows(found)) == [("seed-0", 2.0), ("seed-1", 3.0)]


def test_scalars_equal_the_long_table(runs: rf.Runs):
    expected = runs.scalars().astype({"run": str, "tag": str})
    pd.testing.assert_frame_equal(runs.sql("from scalars"), expected)


def test_nan_infinity_and_large_steps_are_exact(runs: rf.Runs):
    found = runs.sql("select step, value from scalars where run like 'odd%' and tag = 'step'")
    assert found["step"].tolist() == [HUGE, -5, 7]
    assert math.isnan(found["value"][0])
    assert found["value"][1:].tolist() == [math.inf, -math.inf]


def test_integers_stay_exact_with_missing_values_and_in_sums(runs: rf.Runs):
    query = "select max(step) from scalars where step > 10 union all select null"
    assert sorted(runs.sql(query).iloc[:, 0].dropna()) == [HUGE]
    assert runs.sql("select sum(step) s from scalars where step > 10").dtypes["s"] == np.int64
    assert runs.sql("select sum(step) + 9e18::hugeint s from scalars")["s"][0] > 2**63


def test_hparams_have_their_types(runs: rf.Runs):
    found = runs.sql(
        "select * exclude (run, source) from hparams where run = 'seed-1' order by hparam"
    )
    assert found.astype(object).where(found.notna(), None).to_numpy().tolist() == [
        ["bias", "flag", "true", None, True],
        ["layers", "number", "48", 48.0, None],
        ["lr", "number", "0.01", 0.01, None],
        ["name", "text", "adam", None, None],
    ]


def test_runs_have_their_hparams_by_name(runs: rf.Runs):
    found = runs.sql("select run, points from runs where hparams['lr']::double < 0.05")
    assert rows(found) == [("seed-1", 7)]
    assert runs.sql("select hparams from runs where run = 'seed-0'")["hparams"][0] == {
        "lr": "0.1",
        "layers": "48",
        "bias": "true",
        "name": "adam",
    }


def test_runs_have_their_sizes_and_counts(runs: rf.Runs, tmp_path: Path):
    found = runs.sql("select * exclude (hparams, start, duration, size) from runs where points = 7")
    path = str(tmp_path / "seed-0")
    assert rows(found)[0] == ("seed-0", path, "unknown", 1, 7, 0, 1, 0)


def test_hparams_that_torch_wrote_below_a_run_belong_to_it(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    write(tmp_path / "a" / "1750000000.25", values(encode.hparams_start({"lr": 0.5, "none": None})))
    runs = rf.open(tmp_path, progress=False)
    query = "select run, number from hparams where run = 'a' and type is not null"
    assert rows(runs.sql(query)) == [("a", 0.5)]
    assert runs.sql("select hparams['lr'] lr from runs where run = 'a'")["lr"][0] == "0.5"


def write_trials(folder: Path, *rates: float) -> None:
    write(folder, scalars("loss", (0, 1.0), (5, 0.5)))
    for number, rate in enumerate(rates):
        events = values(encode.hparams_start({"lr": rate}), encode.hparams_end("success"))
        own = [scalars("acc", (0, rate)), scalars("loss", (0, 9.0))]
        write(folder / f"175000000{number}.25", events, *own)


def test_runs_equal_the_table_and_joins_include_metrics_of_parts(tmp_path: Path):
    write_trials(tmp_path / "joined", 0.5)
    write_trials(tmp_path / "apart", 0.5, 0.25)
    runs = rf.open(tmp_path, progress=False)
    columns = ["run", "status", "duration", "steps", "points"]
    found = runs.sql(f"select {', '.join(columns)} from runs")
    assert rows(found) == rows(runs.table(columns=columns))
    apart = ["apart/1750000000.25", "apart/1750000001.25"]
    assert found["run"].tolist() == ["apart", *apart, "joined"]
    query = "select run, hparams['lr']::double, value from scalars join runs using (run)"
    expected = [(apart[0], 0.5, 0.5), (apart[1], 0.25, 0.25), ("joined", 0.5, 0.5)]
    assert rows(runs.sql(f"{query} where tag = 'acc' order by run")) == expected
    assert rows(runs.sql(f"{query} where tag = 'acc' and run = 'joined'")) == expected[2:]
    losses = runs.sql("select value from scalars where run = 'joined' and tag = 'loss'")
    assert losses["value"].tolist() == [1.0, 0.5]


def test_texts_of_one_value_have_separate_rows(runs: rf.Runs):
    found = runs.sql("select run, tag, \"index\", text from text where run > 'o' and index < 5")
    assert (ODD, "two", 1, "b") in rows(found)
    assert ("seed-0", "note", 0, "hello") in rows(found)


def test_images_are_returned_as_stored(runs: rf.Runs):
    found = runs.sql("select * exclude wall_time from images where run = 'seed-0'")
    assert rows(found) == [("seed-0", "picture", 0, 0, 4, 2, PICTURE)]


def test_histograms_are_returned_as_lists(runs: rf.Runs):
    query = "select left_edges, right_edges, counts, num from histograms where run = 'seed-0'"
    left, right, counts, num = rows(runs.sql(query))[0]
    expected = runs["seed-0"].histograms().iloc[0]
    assert left.tolist() == expected["left"].tolist()
    assert right.tolist() == expected["right"].tolist()
    assert (counts.tolist(), num) == ([1.0, 3.0], 4.0)
    assert runs.sql("select sum(list_sum(counts)) n from histograms")["n"][0] == 8.0


def test_problems_are_a_table(tmp_path: Path):
    file = write(tmp_path / "a", scalars("loss", (0, 1.0), (1, 2.0)))
    file.write_bytes(file.read_bytes()[:-3] + b"xyz")
    runs = rf.open(tmp_path, progress=False)
    expected = runs.problems()[["run", "file", "offset", "code", "message"]]
    assert rows(runs.sql("from problems")) == rows(expected)
    with pytest.raises(BadLog):
        rf.open(tmp_path, strict=True, progress=False).sql("select count(*) from scalars")


def test_an_empty_logdir_has_all_tables_without_rows(tmp_path: Path):
    runs = rf.open(tmp_path, progress=False)
    for table, columns in TABLES.items():
        found = runs.sql(f"from {table}")
        assert (found.columns.tolist(), len(found)) == (list(columns), 0)
    with pytest.raises(LogdirNotFound):
        rf.open(tmp_path / "nowhere")


def test_refresh_between_queries_takes_effect(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    runs = rf.open(tmp_path, progress=False)
    count = "select count(*) n, count(distinct run) r from scalars"
    assert rows(runs.sql(count)) == [(1, 1)]
    write(tmp_path / "a", scalars("loss", (0, 1.0), (1, 1.0)))
    write(tmp_path / "b", scalars("loss", (0, 1.0)))
    assert rows(runs.sql(count)) == [(1, 1)]
    runs.refresh()
    assert rows(runs.sql(count)) == [(3, 2)]


def test_duplicate_column_names_are_made_distinct(runs: rf.Runs):
    query = "select a.run, b.run, 1 as run_1 from runs a join runs b on a.run = b.run"
    assert runs.sql(query).columns.tolist() == ["run", "run_2", "run_1"]


def test_pivot_and_summarize_work(runs: rf.Runs):
    chosen = "select run, tag, value from scalars where tag like '%loss'"
    query = f"pivot ({chosen}) on tag using max(value)"
    assert sorted(rows(runs.sql(query))) == [("seed-0", 1.0, 2.0), ("seed-1", 2.0, 3.0)]
    assert runs.sql("summarize scalars")["column_name"].tolist() == list(TABLES["scalars"])
    assert runs.sql("show tables")["name"].tolist() == sorted(TABLES)


def test_date_after_the_year_9999_is_returned(runs: rf.Runs):
    (late,) = runs.sql("select date '9999-12-31' + 1 as late")["late"].to_numpy()
    assert late == np.datetime64("10000-01-01")
