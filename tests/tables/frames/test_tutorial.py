"""All runs in one table, without the failed ones, saved and loaded with its images."""

import numpy as np
import pytest

import runfold as rf


def track(folder, seed):
    with rf.track(folder, hparams={"lr": 0.1}) as run:
        for step in range(3):
            run.add_scalar("val/loss", 1 / (step + 1 + seed), step)
            run.add_image("boundary", np.full((3, 8, 8), 10 * seed + step, np.uint8), step)
        run.add_text("note", f"seed {seed}")
        if seed == 1:
            raise RuntimeError("diverged")


def test_a_saved_table_has_every_finished_run_with_its_images(tmp_path):
    for seed in (0, 2):
        track(tmp_path / "demo-runs" / f"seed-{seed}", seed)
    with pytest.raises(RuntimeError, match="diverged"):
        track(tmp_path / "demo-runs" / "seed-1", 1)
    runs = rf.open(tmp_path / "demo-runs")
    (runs - runs.failed()).table().to_parquet(tmp_path / "table.parquet")
    table = rf.read_table(tmp_path / "table.parquet")
    assert table["run"].tolist() == ["seed-0", "seed-2"]
    assert table["val/loss"].tolist() == [np.float32(1 / 3), np.float32(1 / 5)]
    assert table["note"].tolist() == ["seed 0", "seed 2"]
    assert table["lr"].tolist() == [0.1, 0.1]
    for picture, value in zip(table["boundary"], (2, 22), strict=True):
        np.testing.assert_array_equal(picture.pil(), np.full((8, 8, 3), value))
        assert "image/png" in picture._repr_mimebundle_()
    assert table._repr_html_().count("<img") == 2
