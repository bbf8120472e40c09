"""Edits of values in event files, checked with protobuf and TensorBoard."""

from pathlib import Path
from typing import TypeAlias

import pytest
from helpers import writers
from helpers.edits import Change, changed, events, steps
from helpers.tensorboard_readers import READERS, provider, read_scalars
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

import runfold as rf
from runfold._edit import edit

Value: TypeAlias = Summary.Value


def drop_weights(value: Value, event: Event) -> Value | None:
    return None if value.tag in ("weights", "sample") else value


def keep_train(value: Value, event: Event) -> Value | None:
    return value if value.tag.startswith("train/") or is_reserved(value.tag) else None


def is_reserved(tag: str) -> bool:
    return tag.startswith("_hparams_/") or tag == "custom_scalars__config__"


def cut_first(value: Value, event: Event) -> Value | None:
    return None if event.step == 0 and not is_reserved(value.tag) else value


def strip_pictures(value: Value, event: Event) -> Value | None:
    is_picture = value.WhichOneof("value") in ("image", "histo")
    is_picture |= value.metadata.plugin_data.plugin_name in ("images", "histograms")
    return None if is_picture else value


CASES: dict[str, tuple[dict, Change]] = {
    "delete": ({"delete_tags": ["weights", "samp*"]}, drop_weights),
    "keep": ({"keep_tags": "train/*"}, keep_train),
    "strip": ({"strip": ["image", "histogram"]}, strip_pictures),
}


@pytest.fixture(scope="module", params=writers.WRITERS)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "log"
    writers.WRITERS[request.param](folder / "run")
    return folder


@pytest.mark.parametrize("case", CASES)
def test_deleting_values_keeps_all_others_unchanged(case: str, log: Path, tmp_path: Path) -> None:
    rules, change = CASES[case]
    edit(log, tmp_path / "new", **rules)
    before = events(log / "run")
    after = events(tmp_path / "new" / "run")
    assert after == changed(before, change)
    assert after != before


def test_metadata_moves_to_the_first_value_that_is_kept(log: Path, tmp_path: Path) -> None:
    before = rf.open(log)["run"].tags
    edit(log, tmp_path / "new", cut_steps=[(None, 5)])
    after = events(tmp_path / "new" / "run")
    expected = changed(events(log / "run"), cut_first)
    for event in [*after, *expected]:
        for value in event.summary.value:
            value.ClearField("metadata")
    assert after == expected
    assert rf.open(tmp_path / "new")["run"].tags == before
    for reader in READERS:
        with provider(reader, tmp_path / "new") as source:
            assert [p[0] for p in read_scalars(source, "run", "train/loss")] == writers.STEPS[1:]


@pytest.mark.parametrize("reader", READERS)
def test_tensorboard_shows_the_new_name(reader: str, log: Path, tmp_path: Path) -> None:
    edit(log, tmp_path / "new", rename_tags={"train/*": "fit/*"})
    with provider(reader, log) as source:
        before = read_scalars(source, "run", "train/loss")
    with provider(reader, tmp_path / "new") as source:
        assert read_scalars(source, "run", "fit/loss") == before
        assert read_scalars(source, "run", "train/loss") == []
    assert len(before) == len(writers.STEPS)


def test_layout_and_hparams_metrics_use_the_new_name(log: Path, tmp_path: Path) -> None:
    renames = {"train/loss": "fit"}
    has_metric = any(tag.startswith("_hparams_") for tag in rf.open(log).tags.get("hparams", []))
    if has_metric:
        renames["hparam/accuracy"] = "accuracy"
    edit(log, tmp_path / "new", rename_tags=renames)
    new = rf.open(tmp_path / "new")
    for layout in new.layouts()["layout"]:
        assert layout.categories[0].charts[0].tags == ("fit", "val/loss")
    if has_metric:
        assert set(new.metrics()["tag"]) == {"accuracy"}


def test_shifts_apply_to_steps_and_times_of_values_with_steps(log: Path, tmp_path: Path) -> None:
    edit(log, tmp_path / "new", shift_steps=1000, shift_time=-3600.0)
    before, after = rf.open(log)["run"], rf.open(tmp_path / "new")["run"]
    for tag in writers.SCALARS:
        assert (after[tag].steps == before[tag].steps + 1000).all()
        assert (after[tag].wall_times == before[tag].wall_times - 3600.0).all()
        assert after[tag].values.tobytes() == before[tag].values.tobytes()
    assert len(after.graphs()) == len(before.graphs())


def test_thinning_keeps_first_and_last_and_multiples(log: Path, tmp_path: Path) -> None:
    edit(log, tmp_path / "new", every=7)
    assert steps(tmp_path / "new" / "run", "train/loss") == [0, 7, writers.STEPS[-1]]
    edit(log, tmp_path / "other", every=10, tags="train/*")
    assert steps(tmp_path / "other" / "run", "train/loss") == [0, writers.STEPS[-1]]
    assert steps(tmp_path / "other" / "run", "odd") == writers.STEPS


def test_a_shift_only_changes_the_steps_of_tags_in_scope(log: Path, tmp_path: Path) -> None:
    edit(log, tmp_path / "new", shift_steps=5, tags="odd")
    new = tmp_path / "new" / "run"
    assert steps(new, "odd") == [step + 5 for step in writers.STEPS]
    assert steps(new, "train/loss") == writers.STEPS
    assert rf.open(tmp_path / "new").problems().empty


def test_rule_that_changes_nothing_copies_files_exactly(log: Path, tmp_path: Path) -> None:
    report = edit(log, tmp_path / "new", steps=[(None, None)])
    assert report.changed == []
    for path in log.rglob("*"):
        if path.is_file():
            assert (tmp_path / "new" / path.relative_to(log)).read_bytes() == path.read_bytes()


def test_dry_run_reports_what_the_edit_does(log: Path, tmp_path: Path) -> None:
    rules: dict = {"strip": "image", "every": 7, "rename_tags": {"odd": "even"}}
    dry_report = edit(log, dry_run=True, **rules)
    assert list(tmp_path.iterdir()) == []
    done = edit(log, tmp_path / "new", **rules)
    assert dry_report.runs == done.runs
    sizes = [sum(p.stat().st_size for p in (tmp_path / "new" / run.name).glob("*tfevents*"))
             for run in done.runs]  # fmt: skip
    assert [run.bytes[1] for run in done.runs] == sizes
