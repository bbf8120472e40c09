"""The model of what logs of any size cost."""

from pathlib import Path

import pytest

from benchmarks import cost_model
from benchmarks.cost_model import LONG, SHORT, Size, solve


def test_the_model_finds_the_cost_per_run_and_per_point() -> None:
    def cost(size: Size) -> float:
        return 7e-6 * size.runs + 40e-9 * size.points

    model = solve({"read": cost(Size.of(*SHORT))}, {"read": cost(Size.of(*LONG))})["read"]
    assert model.per_run == pytest.approx(7e-6)
    assert model.per_point == pytest.approx(40e-9)
    large = Size.of(100_000, 20)
    assert model.predict(large) == pytest.approx(cost(large))


def test_predictions_are_printed_next_to_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost_model, "SHORT", (30, 20))
    monkeypatch.setattr(cost_model, "LONG", (2, 400))
    monkeypatch.setattr(cost_model, "_TURNS", 1)
    file = tmp_path / "model.json"
    cost_model.main(["--logs", str(tmp_path), "--runs", "60", "--json", str(file)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["phase", "per", "run", "per", "point"]
    phases = ["walk", "open", "memory,", "read", "memory,", "table", "fold", "refresh"]
    assert [line.split()[0] for line in lines[1:9]] == phases
    assert lines[10].split()[:2] == ["60", "runs"]
    assert [line.split()[0] for line in lines[11:]] == phases
    assert file.exists()
