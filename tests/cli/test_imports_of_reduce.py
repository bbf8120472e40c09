"""`runfold reduce` imports no package that it does not need."""

from pathlib import Path

import pytest
from helpers.logs import scalars, write

from benchmarks.commands import heavy_imports


@pytest.fixture
def seeds(tmp_path: Path) -> list[str]:
    runs = [tmp_path / "runs" / name for name in ("seed-1", "seed-2", "seed-3")]
    for number, run in enumerate(runs):
        write(run, scalars("loss", (0, 1.0 + number), (1, 0.5 + number)))
    return [str(run) for run in runs]


@pytest.mark.parametrize("name", ["folded/", "folded.csv", "folded.csv.gz"])
def test_reduce_does_not_import_heavy_packages(name: str, seeds: list[str], tmp_path: Path):
    out = f"{tmp_path}/{name}"
    assert heavy_imports("reduce", *seeds, "-o", out, "-r", "mean,std,min,max,ci95") == []
    assert Path(out).exists()


def test_a_heavy_package_is_detected(seeds: list[str], tmp_path: Path):
    out = f"{tmp_path}/folded/"
    assert heavy_imports("reduce", *seeds, "-o", out, "-r", "ci95-t") == ["scipy"]
