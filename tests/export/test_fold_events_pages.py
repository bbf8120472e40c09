"""A fold on TensorBoard's hparams and custom scalars pages, with both of its readers."""

import json
import re
from itertools import product

import numpy as np
import pytest
from helpers.folds import curve, fold, group, learning_rates, noisy
from helpers.tensorboard_readers import READERS, page, provider, read_scalars
from tensorboard import context
from tensorboard.plugins.custom_scalar.custom_scalars_plugin import CustomScalarsPlugin
from tensorboard.plugins.hparams import api_pb2, get_experiment, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

import runfold as rf
from runfold._export.fold_events import write_event_files

REQUEST = context.RequestContext()
TAGS = ["val/loss", "val/accuracy (top-1) [%]", "lr", "a.*b+c?"]


@pytest.fixture(params=READERS)
def source(request, tmp_path):
    """Return TensorBoard's view of two groups folded by learning rate."""
    write_event_files(learning_rates(*TAGS), tmp_path / "fold")
    with provider(request.param, tmp_path) as found:
        yield found


def experiment(backend):
    request = api_pb2.GetExperimentRequest()
    return get_experiment.Handler(REQUEST, backend, "", request).run()


def session_groups(backend):
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0, slice_size=100, allowed_statuses=[api_pb2.STATUS_SUCCESS]
    )
    handler = list_session_groups.Handler(REQUEST, backend, "", request)
    return handler.run().session_groups


def test_the_hparams_page_lists_every_folded_run(source):
    backend = page(Context, source)
    settings = {
        session.name: {
            name: getattr(value, value.WhichOneof("kind"))
            for name, value in session.hparams.items()
        }
        for session in session_groups(backend)
    }
    assert settings == {
        f"fold-{statistic}/lr={rate}": {
            "lr": rate,
            "hidden": 48.0,
            "optimizer": "adam",
            "nesterov": True,
        }
        for statistic in ("mean", "std")
        for rate in (0.01, 0.1)
    }
    plan = experiment(backend)
    assert {info.name: info.type for info in plan.hparam_infos} == {
        "lr": api_pb2.DATA_TYPE_FLOAT64,
        "hidden": api_pb2.DATA_TYPE_FLOAT64,
        "optimizer": api_pb2.DATA_TYPE_STRING,
        "nesterov": api_pb2.DATA_TYPE_BOOL,
    }
    assert {info.name.tag for info in plan.metric_infos} == set(TAGS)


def test_a_session_lasts_as_long_as_its_curves(source):
    (session,) = session_groups(page(Context, source))[0].sessions
    assert session.end_time_secs - session.start_time_secs == 49.0


def test_runfold_reads_the_hparams_of_a_group(tmp_path):
    runs = group(
        noisy("loss"),
        name="deep",
        key={"group": "deep", "layers": 3, "shape": (1, 2), "name": "\udcff"},
        hparams={"layers": 2.0, "none": None, "sizes": [1, 2]},
    )
    write_event_files(fold(runs), f"{tmp_path}/")
    read = rf.open(tmp_path).hparams(wide=True).loc["mean/deep"].to_dict()
    assert read == {"group": "deep", "layers": 3.0, "name": "\\udcff"}


def test_a_group_without_hparams_is_not_a_session(tmp_path):
    write_event_files(fold(group(noisy("loss"))), f"{tmp_path}/")
    assert rf.open(tmp_path).hparams().empty


def test_the_custom_scalars_page_has_one_chart_per_tag_by_prefix(source):
    layout = json.loads(page(CustomScalarsPlugin, source).layout_impl(REQUEST, ""))
    shown = [
        (category["title"], [chart["title"] for chart in category["chart"]])
        for category in layout["category"]
    ]
    assert shown == [
        ("val", ["val/loss (mean ± std)", "val/accuracy (top-1) [%] (mean ± std)"]),
        ("lr", ["lr (mean ± std)"]),
        ("a.*b+c?", ["a.*b+c? (mean ± std)"]),
    ]


def test_the_page_finds_the_three_curves_of_each_chart_in_one_run(source):
    plugin = page(CustomScalarsPlugin, source)
    layout = json.loads(plugin.layout_impl(REQUEST, ""))
    charts = [chart for category in layout["category"] for chart in category["chart"]]
    assert len(charts) == len(TAGS)
    for chart, (name, each) in product(charts, learning_rates(*TAGS).groups.items()):
        (series,) = chart["margin"]["series"]
        tags = [series[part] for part in ("value", "lower", "upper")]
        # The page reads everything after a tag's first bracket as the name of the run.
        assert "(" not in "".join(tags)
        pattern = "|".join(f"({re.escape(tag)})" for tag in tags)
        found = plugin.scalars_impl(REQUEST, f"fold-band/{name}", pattern, "")["tag_to_events"]
        own = each.curves[chart["title"].removesuffix(" (mean ± std)")]
        edges = (own["mean"], own["mean"] - own["std"], own["mean"] + own["std"])
        for tag, expected in zip(tags, edges, strict=True):
            _, steps, read = zip(*found[tag], strict=True)
            assert np.array_equal(steps, own.x)
            assert np.array_equal(read, expected.astype(np.float32))
        # The page reports an error for a run that has only one or two of the three.
        found = plugin.scalars_impl(REQUEST, f"fold-mean/{name}", pattern, "")["tag_to_events"]
        assert not set(tags) & set(found)


@pytest.mark.parametrize("reader", READERS)
def test_a_sample_of_a_long_band_has_the_same_steps_in_all_three(reader, tmp_path):
    write_event_files(fold(group(noisy("loss", 5000))), f"{tmp_path}/")
    with provider(reader, tmp_path, samples=100) as source:
        line, lower, upper = (
            [point[0] for point in read_scalars(source, "band", f"± band/loss/{name}")]
            for name in ("mean", "mean-std", "mean+std")
        )
    assert len(line) == 100
    assert line == lower == upper


@pytest.mark.parametrize(
    ("statistics", "tags", "title"),
    [
        (("median", "q25", "q75"), ("median", "q25", "q75"), "loss (median, q25 to q75)"),
        (
            ("iqm", "ci95-iqm-low", "ci95-iqm-high"),
            ("iqm", "ci95-iqm-low", "ci95-iqm-high"),
            "loss (iqm, ci95-iqm)",
        ),
        (("min", "mean", "max"), ("mean", "min", "max"), "loss (mean, min to max)"),
    ],
)
def test_edges_that_are_statistics_keep_their_names(statistics, tags, title, tmp_path):
    numbers = {name: np.full(3, float(at)) for at, name in enumerate(statistics)}
    write_event_files(fold(group(curve("loss", np.arange(3), **numbers))), f"{tmp_path}/")
    run = rf.open(tmp_path)["band"]
    for tag in tags:
        assert np.array_equal(run[f"± band/loss/{tag}"].values, numbers[tag])
    (layout,) = rf.open(tmp_path).layouts()["layout"]
    assert layout.categories[0].charts[0].title == title


def test_interval_of_the_mean_makes_no_band_around_the_iqm(tmp_path):
    statistics = {"iqm": [1.0], "ci95-low": [0.0], "ci95-high": [2.0]}
    made = write_event_files(fold(group(curve("loss", [0], **statistics))), tmp_path / "fold")
    assert made == [str(tmp_path / f"fold-{name}") for name in statistics]


def test_statistics_without_a_band_have_no_band_folder(tmp_path):
    made = write_event_files(
        fold(group(curve("loss", [0, 1], std=[1.0, 2.0], count=[3.0, 3.0]))), tmp_path / "fold"
    )
    assert made == [str(tmp_path / "fold-std"), str(tmp_path / "fold-count")]
