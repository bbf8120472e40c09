"""Tags moved from one run to another, checked with protobuf and TensorBoard's readers."""

from pathlib import Path

import pytest
from helpers import writers
from helpers.cli_runs import START
from helpers.edits import NAME, changed, events, log_steps, restart, shown, steps, tags
from helpers.tensorboard_readers import READERS, provider, read_everything

import runfold as rf
from runfold._edit import edit


@pytest.fixture(scope="module", params=writers.WRITERS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "log"
    writers.WRITERS[request.param](folder / "run")
    return folder


def test_moved_values_and_all_others_are_unchanged(written: Path, tmp_path: Path) -> None:
    edit(written, tmp_path / "new", move_tags={"train/*": "{run}/fit", "weights": "{run}/fit"})

    def is_moved(tag: str) -> bool:
        return tag.startswith("train/") or tag == "weights"

    before = events(written / "run")
    kept = changed(before, lambda value, _: None if is_moved(value.tag) else value)
    assert events(tmp_path / "new" / "run") == kept
    header, *after = events(tmp_path / "new" / "run" / "fit")
    summaries = [event for event in before if event.WhichOneof("what") == "summary"]
    assert after == changed(summaries, lambda value, _: value if is_moved(value.tag) else None)
    assert header.file_version == "brain.Event:2"


@pytest.mark.parametrize("reader", READERS)
def test_tensorboard_shows_moved_values_of_every_kind_as_before(
    reader: str, written: Path, tmp_path: Path
) -> None:
    edit(written, tmp_path / "new", move_tags={"*": "other"}, runs="run")
    moved = {*tags(tmp_path / "new" / "other")}
    with provider(reader, written) as source:
        before = read_everything(source)
    with provider(reader, tmp_path / "new") as source:
        after = read_everything(source)
    expected = {
        (plugin, data, "other" if run == "run" and tag in moved else run, tag): values
        for (plugin, data, run, tag), values in before.items()
    }
    assert after == expected
    assert len({plugin for plugin, _, run, _ in after if run == "other"}) > 3


def test_metadata_of_the_first_value_moves_along(written: Path, tmp_path: Path) -> None:
    edit(written, tmp_path / "new", cut_steps=":5", move_tags={"train/*": "fit"})
    assert shown(tmp_path / "new", "fit", "train/loss") == [writers.STEPS[1:]] * 4


def test_restart_markers_of_the_target_run_do_not_hide_moved_values(tmp_path: Path) -> None:
    log_steps(tmp_path / "log" / "a", "loss", "val", end=9)
    log_steps(tmp_path / "log" / "b", "loss", end=6, start=START + 9)
    restart(tmp_path / "log" / "b", "loss", 2, 8)
    restart(tmp_path / "log" / "b", "loss", 4, 8)
    report = edit(tmp_path / "log", tmp_path / "new", runs="a", move_tags="val=b")
    assert shown(tmp_path / "new", "b", "val") == [[*range(9)]] * 4
    assert shown(tmp_path / "new", "b", "loss") == shown(tmp_path / "log", "b", "loss")
    assert (tmp_path / "new" / "b" / NAME).read_bytes() == (
        tmp_path / "log" / "b" / NAME
    ).read_bytes()
    assert [run.moved for run in report.runs if run.moved] == [report.runs[0].moved]
    assert str(report.runs[0].moved[0]) == "9 values of 1 tag moved to b"
    assert report.notes == []


def test_hidden_values_stay_hidden_in_a_new_run_and_are_left_out_of_others(tmp_path: Path) -> None:
    log_steps(tmp_path / "log" / "a", "val", end=6)
    restart(tmp_path / "log" / "a", "val", 0, 5, START + 40)
    restart(tmp_path / "log" / "a", "val", 3, 8)
    log_steps(tmp_path / "log" / "b", "loss", end=9)
    edit(tmp_path / "log", tmp_path / "new", runs="a", move_tags={"val": "c"})
    report = edit(tmp_path / "log", tmp_path / "into", runs="a", move_tags={"val": "b"})
    assert rf.open(tmp_path / "new")["c"]["val"].steps.tolist() == [*range(8)]
    assert steps(tmp_path / "new" / "c", "val") == [*range(6), *range(5), *range(3, 8)]
    assert rf.open(tmp_path / "into")["b"]["val"].steps.tolist() == [*range(8)]
    assert steps(tmp_path / "into" / "b", "val") == [*range(8)]
    assert shown(tmp_path / "into", "b", "loss") == [[*range(9)]] * 4
    assert report.notes == [
        "Left out 8 values that restarts hide in the tags moved to b.",
        "No tags remain in a. To delete empty runs, edit again with --delete-runs.",
    ]


def test_parts_of_a_merged_run_continue_in_the_target_run(tmp_path: Path) -> None:
    log_steps(tmp_path / "log" / "z", "loss", "val", end=6)
    log_steps(tmp_path / "log" / "b", "loss", "val", first=4, end=9, start=START + 100)
    log_steps(tmp_path / "log" / "other", "x", end=9)
    for overlap, target in (("marker", "{run}/val"), ("cut", "{run}/val"), ("marker", "other")):
        new = tmp_path / f"{overlap}-{len(target)}"
        rules = {"merge_runs": {"[zb]": "job"}, "overlap": overlap, "move_tags": {"val": target}}
        edit(tmp_path / "log", new, **rules)
        assert shown(new, target.format(run="job"), "val")[:3] == [[*range(9)]] * 3
        assert shown(new, "job", "loss")[:3] == [[*range(9)]] * 3
        assert shown(new, "other", "x") == [[*range(9)]] * 4
    rules = {"merge_runs": {"[zb]": "job"}, "move_tags": {"loss": "all", "val": "all"}}
    edit(tmp_path / "log", tmp_path / "new", **rules)
    assert shown(tmp_path / "new", "all", "val")[:3] == [[*range(9)]] * 3
    rules["rename_tags"], rules["move_tags"] = {"val": "loss"}, {"val": "all"}
    edit(tmp_path / "log", tmp_path / "renamed", **rules)
    assert shown(tmp_path / "renamed", "all", "loss")[:3] == [[*range(9)]] * 3


def test_run_names_refer_to_the_result(tmp_path: Path) -> None:
    for run in ("a", "b"):
        log_steps(tmp_path / "log" / run, "train/loss", "val/loss", "val/acc")
    rules = {"rename_runs": "a=c", "rename_tags": "val/*=*", "move_tags": "val/*={run}/*"}
    edit(tmp_path / "log", tmp_path / "new", **rules)
    assert {name: [*run] for name, run in rf.open(tmp_path / "new").items()} == {
        "b": ["train/loss"],
        "b/acc": ["acc"],
        "b/loss": ["loss"],
        "c": ["train/loss"],
        "c/acc": ["acc"],
        "c/loss": ["loss"],
    }


def test_rules_for_values_apply_to_moved_values(tmp_path: Path) -> None:
    log_steps(tmp_path / "log" / "a", "loss", "val", "debug", end=9)
    rules = {"delete_tags": "debug", "steps": "2:", "every": 3, "shift_steps": 100}
    edit(tmp_path / "log", tmp_path / "new", move_tags={"*": "b"}, **rules)
    assert {tag: steps(tmp_path / "new" / "b", tag) for tag in ("loss", "val", "debug")} == {
        "loss": [102, 103, 106, 108],
        "val": [102, 103, 106, 108],
        "debug": [],
    }
