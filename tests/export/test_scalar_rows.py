"""Exports of scalars that are read in parts: the same bytes as without a limit."""

from pathlib import Path
from typing import Any

import pytest
from helpers.logs import scalars, write
from helpers.odd_runs import write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._export import cell_text
from runfold._export.formats import FORMATS, parquet
from runfold.errors import NotEnoughMemory, UnknownTag

FILES = ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.parquet", "a.xlsx", "a.feather", "a.md", "all/"]
LIMIT = 100_000


def read_all(path: Path) -> dict[str, bytes]:
    files = path.rglob("*") if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files if file.is_file()}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(0, 40),
    st.sampled_from(["session", "step", "keep"]),
    st.sampled_from(FILES),
    st.sampled_from([None, "loss", ["late", "ac*"], ["run?", "final"]]),
    st.integers(1, 90),
)
def test_exports_are_equal(
    tmp_path: Path, seed: int, restarts: Any, name: str, tags: Any, rows: int
) -> None:
    path = tmp_path / f"logs-{seed}"
    if not path.exists():
        write_odd_runs(path, seed)
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_text, "_BLOCK", rows)
        for part, limit in (("whole", None), ("parts", LIMIT)):
            out = tmp_path / part / name
            out.parent.mkdir(exist_ok=True)
            runs = rf.open(path, restarts=restarts, limit_memory=limit)
            try:
                done = runs.export(f"{out}/" if name == "all/" else out, tags=tags, overwrite=True)
            except UnknownTag as error:
                found.append((str(error), {}, []))
            else:
                found.append((done.rows, read_all(out), done.notes))
    if name == "a.xlsx":  # contains the time of writing
        found = [(rows, list(files), len(notes)) for rows, files, notes in found]
    whole, parts = found
    assert str(parts).replace("parts", "whole") == str(whole)


def test_row_groups_do_not_depend_on_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in "abc":
        points = [(step, step / 7) for step in range(50)]
        write(tmp_path / "logs" / run, scalars("loss", *points), scalars("acc", *points[:9]))
    monkeypatch.setattr(parquet, "_ROWS", 30)
    form = FORMATS[".parquet"]
    monkeypatch.setitem(
        FORMATS, ".parquet", type(form)(suffix=".parquet", write_arrow=form.write_arrow, rows=30)
    )
    for name, limit in (("whole", None), ("parts", 8000)):
        rf.open(tmp_path / "logs", limit_memory=limit).export(tmp_path / f"{name}.parquet")
    whole, parts = ((tmp_path / f"{name}.parquet").read_bytes() for name in ("whole", "parts"))
    assert parts == whole
    assert rf.read_table(tmp_path / "parts.parquet").equals(rf.open(tmp_path / "logs").scalars())


def test_a_format_that_needs_the_whole_table_needs_its_memory(tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("loss", *((step, 0.5) for step in range(100))))
    runs = rf.open(tmp_path, limit_memory=16_000)
    runs.export(tmp_path / "a.parquet")
    with pytest.raises(NotEnoughMemory, match=r"'loss' in run 'a' needs 16\.0 kB .* 16000\."):
        rf.open(tmp_path, limit_memory=15_999).export(tmp_path / "a.parquet", overwrite=True)
    with pytest.raises(NotEnoughMemory, match=r"A table in this format needs 12\.8 kB"):
        rf.open(tmp_path, limit_memory=12_000).export(tmp_path / "a.feather")
    assert not (tmp_path / "a.feather").exists()
