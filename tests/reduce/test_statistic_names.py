"""A statistic is declared once; operations, bands and help use the declaration."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.checkout import ROOT
from helpers.logs import scalars, write
from helpers.recipes import Changed

from runfold._cli import main
from runfold._reduce.bands import Band, list_bands
from runfold._reduce.operations import parse
from runfold._reduce.sample import Sample
from runfold._reduce.statistics import (
    BANDS,
    CENTERS,
    STATISTICS,
    band_edges,
    band_operations,
    list_centers_for,
    name_interval,
)
from runfold._runs import Runs

VALUES = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [9.0, 1.0]])


@pytest.mark.parametrize("name", STATISTICS)
def test_statistic_is_an_operation_of_its_name(name: str) -> None:
    (statistic,) = parse(name)
    assert statistic.columns == (name,)
    (column,) = statistic.compute(Sample(VALUES))
    assert column.shape == (2,)


@pytest.mark.parametrize("name", STATISTICS)
def test_help_of_reduce_names_statistic(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", "--help"]) == 0
    assert name in capsys.readouterr().out.replace(",", " ").split()


@pytest.mark.parametrize("name", [*STATISTICS, *(name_interval("95", of) for of in CENTERS)])
def test_guide_and_reference_name_statistic(name: str) -> None:
    guide = (ROOT / "docs" / "guides" / "fold.md").read_text(encoding="utf-8")
    assert f"`{name}`" in guide
    reference = inspect.getdoc(Runs.reduce) or ""
    assert name in re.findall(r"[\w-]+", reference)


@pytest.mark.parametrize("center", CENTERS)
def test_center_is_the_mean_of_the_values_after_its_cut(center: str) -> None:
    sample = Sample(VALUES)
    cut = STATISTICS[center].cut
    assert cut is not None
    np.testing.assert_allclose(STATISTICS[center].compute(sample), sample.trimmed_mean(cut))


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("band", BANDS)
def test_bands_of_charts_are_bands_of_reductions(band: str, center: str) -> None:
    if center not in list_centers_for(band):
        return
    columns = [
        column for statistic in parse(band_operations(band, center)) for column in statistic.columns
    ]
    assert Band(center, *band_edges(band, center)) in list_bands(columns)


def test_names_are_known_without_numpy() -> None:
    code = "import sys, runfold._reduce.statistics; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# The code that adds a statistic that can be the line of a band.
NEW_STATISTIC = {
    "_reduce/statistics.py": (
        '        NamedStatistic(name="sum"',
        """        NamedStatistic(
            name="midmean",
            compute=lambda sample: sample.trimmed_mean(lambda n: n // 3),
            about="mean of the middle third",
            cut=lambda n: n // 3,
        ),
""",
    ),
}

COMMANDS = """
import contextlib, io
from runfold._cli import main
from runfold._reduce.bands import choose_operations
from runfold._reduce.statistics import CENTERS

assert main("reduce log -r midmean,ci90-midmean,std -o out.csv".split()) == 0
print("midmean" in CENTERS, *choose_operations("midmean,ci95", None)[0])
shown = io.StringIO()
with contextlib.redirect_stdout(shown):
    main(["reduce", "--help"])
print(" ".join(shown.getvalue().split()).count("midmean (mean of the middle third)"))
assert main("plot log -r midmean,ci95 --band ci95 -o out.svg".split()) == 0
main("reduce log -r midmena -o other.csv".split())
"""


def test_new_statistic_requires_changes_in_one_file(tmp_path: Path) -> None:
    assert len(NEW_STATISTIC) == 1
    package = Changed(tmp_path, NEW_STATISTIC)
    for seed, value in enumerate([0.0, 1.0, 2.0, 9.0]):
        write(tmp_path / "log" / str(seed), scalars("loss", (0, value), (1, 1.0)))
    done = package.run("-c", COMMANDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:3] == ["True midmean ci95-midmean", "1"]
    assert "Did you mean 'midmean'" in done.stderr
    head, first, _ = (tmp_path / "out.csv").read_text().splitlines()
    assert head.split(",")[-4:] == ["midmean", "ci90-midmean-low", "ci90-midmean-high", "std"]
    assert float(first.split(",")[-4]) == 1.5
