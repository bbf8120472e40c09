"""The `model_dir` of a TensorFlow Estimator is a logdir."""

from conftest import run_program

import runfold as rf


def test_training_and_evaluations_are_two_runs(tmp_path):
    trained = run_program(tmp_path / "run", "original", "estimator_model_dir")
    runs = rf.open(trained.folder / "model")
    assert list(runs) == [".", "eval"]
    for name, folder, tags in (
        (".", "model", ["loss"]),
        ("eval", "model/eval", ["accuracy", "loss"]),
    ):
        read = trained.logs[folder]
        run = runs[name]
        assert sorted(set(run.scalars()["tag"])) == tags
        for tag in tags:
            points = zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True)
            assert [(step, repr(value)) for step, value in points] == read["scalar", tag]
    assert runs["."]["loss"].steps.tolist() == [0, 100, 200, 300]
    assert runs["."].hidden == 1  # step 200, which was logged before and after the restart
    assert runs["eval"]["accuracy"].steps.tolist() == [100, 300]
    assert len(runs.problems()) == 0
