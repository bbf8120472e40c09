"""Which settings an instance takes, as TensorBoard's own parser sees them."""

from pathlib import Path

import pytest
from tensorboard import program

from runfold._serve.tensorboards.instance_options import (
    BadOption,
    Options,
    read_config,
    read_options,
    read_seconds,
    split_setting,
)


def parse(options: Options) -> object:
    board = program.TensorBoard()
    board.configure(["tensorboard", "--logdir=x", *options.to_arguments()])
    return board.flags


def test_defaults_leave_no_surprises() -> None:
    flags = vars(parse(Options()))
    assert flags["samples_per_plugin"]["scalars"] == 100_000
    assert flags["samples_per_plugin"]["images"] == 200
    assert flags["reload_multifile"] is True
    assert flags["load_fast"] == "auto"
    assert flags["reload_interval"] == 5.0


def test_what_is_set_wins_and_the_rest_stays() -> None:
    options = read_options(
        {
            "samples-per-plugin": {"images": 7},
            "reload_interval": 30,
            "window_title": "it's mine; $(x)",
            "purge_orphaned_data": False,
            "idle_timeout": "2h",
            "description": "for Ada",
        }
    )
    flags = vars(parse(options))
    assert flags["samples_per_plugin"]["images"] == 7
    assert flags["samples_per_plugin"]["scalars"] == 100_000
    assert flags["reload_interval"] == 30.0
    assert flags["window_title"] == "it's mine; $(x)"
    assert flags["purge_orphaned_data"] is False
    assert (options.idle_timeout, options.description) == (7200.0, "for Ada")
    assert Options.from_json(options.to_json()) == options


def test_no_limit_on_samples_shows_all_of_them() -> None:
    flags = vars(parse(read_options({"samples_per_plugin": "scalars=0,text=3"})))
    assert flags["samples_per_plugin"]["scalars"] == 1_000_000_000
    assert flags["samples_per_plugin"]["text"] == 3


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "logdir",
            "/",
            "logdir is set by Runfold itself, or is not for an instance. Leave it out.",
        ),
        ("port", 6006, "port is set by Runfold"),
        ("bind_all", True, "bind_all is set by Runfold"),
        ("path_prefix", "/x", "path_prefix is set by Runfold"),
        ("extra_data_server_flags", "--x", "extra_data_server_flags is set by Runfold"),
        ("inspect", True, "inspect is set by Runfold"),
        ("reload_intervall", 5, "TensorBoard has no flag 'reload_intervall'. Did you mean"),
        ("idle_timout", 5, "Did you mean 'idle_timeout'?"),
        ("reload", 5, "TensorBoard has no flag 'reload'"),
        ("reload_interval", "soon", "TensorBoard does not take reload_interval=soon: invalid"),
        ("load_fast", "maybe", "TensorBoard does not take load_fast=maybe: invalid choice"),
        ("samples_per_plugin", "images", "TensorBoard does not take samples_per_plugin=images"),
        ("window_title", ["a"], "window_title takes one value"),
        ("idle_timeout", "soon", "idle_timeout is a time such as"),
        ("idle_timeout", -1, "idle_timeout is a time such as"),
        ("idle_timeout", "1" * 400, "idle_timeout is too long"),
    ],
)
def test_what_cannot_be_set_is_refused_with_a_reason(
    name: str, value: object, message: str
) -> None:
    with pytest.raises(BadOption) as caught:
        read_options({name: value})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "seconds"), [(90, 90), ("1.5h", 5400), ("30m", 1800), ("1 d", 86400), ("never", 0)]
)
def test_times_are_read_as_people_write_them(given: object, seconds: float) -> None:
    assert read_seconds(given) == seconds


def test_settings_come_as_pairs_or_from_a_file(tmp_path: Path) -> None:
    assert split_setting("window_title=a=b") == ("window_title", "a=b")
    with pytest.raises(BadOption, match="name=value"):
        split_setting("window_title")
    file = tmp_path / "board.yaml"
    file.write_text("idle_timeout: 1h\nsamples_per_plugin:\n  images: 3\n")
    assert read_config(str(file)) == {"idle_timeout": "1h", "samples_per_plugin": {"images": 3}}
    for text in ("- a\n", "1: 2\n", "a: [\n", "!!python/object/apply:os.getcwd []\n"):
        file.write_text(text)
        with pytest.raises(BadOption, match=r"board\.yaml"):
            read_config(str(file))


def test_only_what_changes_the_instance_makes_another() -> None:
    assert Options(description="a").key == Options(description="b").key
    assert Options(idle_timeout=5).key != Options().key
