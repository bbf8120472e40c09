"""An instance's options, checked with TensorBoard's own parser."""

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


def test_default_flags() -> None:
    flags = vars(parse(Options()))
    assert flags["samples_per_plugin"]["scalars"] == 100_000
    assert flags["samples_per_plugin"]["images"] == 200
    assert flags["reload_multifile"] is True
    assert flags["load_fast"] == "auto"
    assert flags["reload_interval"] == 5.0


def test_set_options_replace_the_defaults() -> None:
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


def test_zero_samples_per_plugin_shows_all_samples() -> None:
    flags = vars(parse(read_options({"samples_per_plugin": "scalars=0,text=3"})))
    assert flags["samples_per_plugin"]["scalars"] == 1_000_000_000
    assert flags["samples_per_plugin"]["text"] == 3


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "logdir",
            "/",
            "logdir is set by Runfold itself or does not apply to instances. Remove it.",
        ),
        ("port", 6006, "port is set by Runfold"),
        ("bind_all", True, "bind_all is set by Runfold"),
        ("path_prefix", "/x", "path_prefix is set by Runfold"),
        ("extra_data_server_flags", "--x", "extra_data_server_flags is set by Runfold"),
        ("inspect", True, "inspect is set by Runfold"),
        ("reload_intervall", 5, "TensorBoard has no flag 'reload_intervall'. Did you mean"),
        ("idle_timout", 5, "Did you mean 'idle_timeout'?"),
        ("reload", 5, "TensorBoard has no flag 'reload'"),
        ("reload_interval", "soon", "TensorBoard rejects reload_interval=soon: invalid"),
        ("load_fast", "maybe", "TensorBoard rejects load_fast=maybe: invalid choice"),
        ("samples_per_plugin", "images", "TensorBoard rejects samples_per_plugin=images"),
        ("window_title", ["a"], "window_title takes one value"),
        ("idle_timeout", "soon", "idle_timeout must be a time such as"),
        ("idle_timeout", -1, "idle_timeout must be a time such as"),
        ("idle_timeout", "1" * 400, "idle_timeout is too long"),
    ],
)
def test_invalid_options_are_refused_with_a_reason(name: str, value: object, message: str) -> None:
    with pytest.raises(BadOption) as caught:
        read_options({name: value})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "seconds"), [(90, 90), ("1.5h", 5400), ("30m", 1800), ("1 d", 86400), ("never", 0)]
)
def test_times_are_parsed(value: object, seconds: float) -> None:
    assert read_seconds(value) == seconds


def test_settings_are_pairs_or_from_a_file(tmp_path: Path) -> None:
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


def test_only_options_that_affect_the_instance_change_the_key() -> None:
    assert Options(description="a").key == Options(description="b").key
    assert Options(idle_timeout=5).key != Options().key
    assert Options(cluster="auto").key != Options().key
    assert Options(cluster="auto").key != Options(cluster="10.0.0.5:6379").key


def test_an_instance_on_a_cluster_has_no_second_port() -> None:
    assert vars(parse(Options(cluster="auto")))["load_fast"] == "false"
    chosen = Options((("load_fast", "true"),), cluster="auto")
    assert vars(parse(chosen))["load_fast"] == "true"
    assert Options.from_json(chosen.to_json()) == chosen
