"""Charts of the custom scalars page: one layout for all, as real TensorBoard shows it."""

import json

import pytest
from helpers.kind_values import stored
from helpers.log_pairs import OURS, assert_stored_alike, write_both
from helpers.log_runs import strict_writer
from helpers.tensorboard_readers import READERS, page, provider
from tensorboard import context
from tensorboard.plugins.custom_scalar.custom_scalars_plugin import CustomScalarsPlugin

from runfold._events.kinds.layout import Category, Chart, Layout, Margin, decode
from runfold.errors import CannotLog

CONTEXT = context.RequestContext()
TAG = "custom_scalars__config__"
PAGE = {
    "Losses": {"both": ["Multiline", ["loss/.*"]], "band": ["Margin", ["mean", "low", "high"]]},
    "empty": {},
}


def layouts(folder):
    return [decode(value) for value in stored(folder).get(TAG, [])]


def test_charts_are_stored_as_in_torch(tmp_path):
    calls = {
        "page": lambda writer: writer.add_custom_scalars(PAGE),
        "lines": lambda writer: writer.add_custom_scalars_multilinechart(["a", "b"], "c", "t"),
        "margin": lambda writer: writer.add_custom_scalars_marginchart(["a", "b", "c"]),
    }
    for name, call in calls.items():
        write_both(tmp_path / name, call)
        assert list(assert_stored_alike(tmp_path / name)) == [TAG]


@pytest.mark.parametrize("reader", READERS)
def test_tensorboard_draws_the_keys_of_a_main_tag_in_one_chart(tmp_path, reader):
    with strict_writer(tmp_path / "run") as writer:
        for step in range(30):
            writer.add_scalars("loss (a+b)", {"train": 1.0, "val[0]": 2.0}, step)
            writer.add_scalar("loss (a+b)/train/other", 3.0, step)
            writer.add_scalars("acc/all", {"train": 1.0}, step)
            writer.add_custom_scalars_multilinechart([f"line {step}"], "mine", "mine")
            writer.flush()  # the layout is different each time
    with provider(reader, tmp_path) as source:
        plugin = page(CustomScalarsPlugin, source)
        shown = json.loads(plugin.layout_impl(CONTEXT, ""))["category"]
        drawn = {
            chart["title"]: [
                tag
                for expression in chart["multiline"]["tag"]
                for tag in plugin.scalars_impl(CONTEXT, "run", expression, "")["tag_to_events"]
            ]
            for category in shown
            for chart in category["chart"]
        }
    assert [category["title"] for category in shown] == ["mine", "loss (a+b)", "acc"]
    assert shown[0]["chart"][0]["multiline"]["tag"] == ["line 29"]
    assert drawn == {
        "mine": [],
        "loss (a+b)": ["loss (a+b)/train", "loss (a+b)/val[0]"],
        "acc/all": ["acc/all/train"],
    }


def test_a_layout_is_written_only_if_it_changed(tmp_path):
    with strict_writer(tmp_path) as writer:
        for step in range(3):
            for main_tag in ("a", "b"):
                writer.add_scalars(main_tag, {"x": 1.0, "y": 2.0}, step)
            writer.add_custom_scalars(PAGE)
            writer.flush()
        writer.add_scalars("a", {"z": 1.0})
    first, second = layouts(tmp_path)
    assert [category.title for category in first.categories] == ["Losses", "empty", "a", "b"]
    assert first.categories[2].charts == (Chart("a", ("a/x$", "a/y$"), ()),)
    assert second.categories[2].charts == (Chart("a", ("a/x$", "a/y$", "a/z$"), ()),)


def test_charts_of_all_calls_are_kept(tmp_path):
    with strict_writer(tmp_path) as writer:
        writer.add_custom_scalars({"one": {"t": ["multiline", ["old"]]}})
        writer.add_custom_scalars({"one": {"t": ["Multiline", ("new",)]}})
        for tags in (["a"], ["b"], ["a"]):
            writer.add_custom_scalars_multilinechart(tags)
        writer.add_custom_scalars_marginchart(["v", "l", "u"], "one", "m")
    untitled = Chart("untitled", ("a",), ()), Chart("untitled", ("b",), ())
    named = Chart("t", ("new",), ()), Chart("m", (), (Margin("v", "l", "u"),))
    expected = Layout((Category("one", False, named), Category("default", False, untitled)))
    assert layouts(tmp_path) == [expected]


def test_a_named_chart_replaces_the_chart_of_the_main_tag(tmp_path):
    with strict_writer(tmp_path) as writer:
        writer.add_scalars("loss", {"a": 1.0})
        writer.add_custom_scalars_multilinechart(["loss/.*"], "loss", "loss")
    chart = Chart("loss", ("loss/.*",), ())
    assert layouts(tmp_path) == [Layout((Category("loss", False, (chart,)),))]


def test_a_main_tag_with_many_keys_has_one_expression(tmp_path):
    with strict_writer(tmp_path) as writer:
        for key in range(300):
            writer.add_scalars("a.b", {str(key): 1.0})
            writer.flush()
    *_, last = found = layouts(tmp_path)
    assert len(found) == 51
    assert last.categories[0].charts == (Chart("a.b", (r"a\.b/",), ()),)


def test_a_chart_of_an_unknown_kind_has_lines_and_causes_a_warning(tmp_path):
    def write(writer):
        writer.add_custom_scalars({"one": {"two": ["Pie", ["x"], "more"]}})

    with pytest.warns(UserWarning, match="Tag 'one/two': layout has the unknown kind 'pie'"):
        write_both(tmp_path, write)
    assert list(assert_stored_alike(tmp_path)) == [TAG]


def test_a_str_is_one_tag_and_none_is_an_empty_name(tmp_path):
    with strict_writer(tmp_path) as writer:
        writer.add_custom_scalars({"c": {"lines": ["Multiline", "loss"]}})
        writer.add_custom_scalars({None: {"bound": ["Margin", ["mean", None, "high"]]}})
    charts = [(category.title, category.charts) for category in layouts(tmp_path)[-1].categories]
    assert charts == [
        ("c", (Chart("lines", ("loss",), ()),)),
        ("", (Chart("bound", (), (Margin("mean", "", "high"),)),)),
    ]


BAD = {
    "'custom_scalars': layout": lambda w: w.add_custom_scalars([1]),
    "'one': layout": lambda w: w.add_custom_scalars({"one": ["Margin"]}),
    "'one/two': layout": lambda w: w.add_custom_scalars({"one": {"two": "x"}}),
    "'one/two': layout ": lambda w: w.add_custom_scalars({"one": {"two": ["Multiline", 3]}}),
    "'default/untitled': tags": lambda w: w.add_custom_scalars_marginchart(["a", "b"]),
    "'default/untitled': tags ": lambda w: w.add_custom_scalars_multilinechart([1]),
    "tags": lambda w: w.add_custom_scalars_multilinechart(["a"], 3),
}


@pytest.mark.parametrize("place", BAD)
def test_an_invalid_chart_raises_by_name_and_adds_nothing(tmp_path, place):
    with strict_writer(tmp_path / OURS) as writer:
        writer.add_scalar("a", 1.0)
        with pytest.raises(CannotLog, match=f"{place.strip()} cannot be "):
            BAD[place](writer)
    assert list(stored(tmp_path)) == ["a"]
