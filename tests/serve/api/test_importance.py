"""Importance of hparams: rank correlation and explained variance."""

import math

import numpy as np
import pytest
import scipy.stats
from helpers.logs import hparams, scalars, write
from helpers.serve_client import Client
from hypothesis import given
from hypothesis import strategies as st

from runfold._serve.api.importance import rank, weigh

NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=20))
def test_ranks_and_their_correlation_match_scipy(pairs):
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    expected = scipy.stats.rankdata(a)
    np.testing.assert_allclose((rank(a) + 1) / 2 * (len(a) - 1) + 1, expected, atol=1e-9)
    correlation, _ = weigh(a.tolist(), b)
    if len(set(a)) < 2 or len(set(b)) < 2:
        assert correlation is None
    else:
        known = scipy.stats.spearmanr(expected, scipy.stats.rankdata(b)).statistic
        assert correlation == pytest.approx(known, abs=1e-9)


@given(st.lists(st.tuples(st.sampled_from("abc"), NUMBERS), min_size=6, max_size=30))
def test_share_of_text_matches_an_analysis_of_variance(pairs):
    settings, values = [setting for setting, _ in pairs], np.array([value for _, value in pairs])
    correlation, share = weigh(settings, values)
    assert correlation is None
    ranks = scipy.stats.rankdata(values)
    groups = [ranks[[s == name for s in settings]] for name in sorted(set(settings))]
    if len(set(ranks)) < 2:
        assert share is None
        return
    within = sum(((group - group.mean()) ** 2).sum() for group in groups)
    total = ((ranks - ranks.mean()) ** 2).sum()
    adjusted = 1 - within / (len(ranks) - len(groups)) / (total / (len(ranks) - 1))
    assert share == pytest.approx(max(0.0, adjusted), abs=1e-9)


def test_monotonic_parabolic_and_random_relations_are_distinguished():
    random = np.random.default_rng(0)
    x = random.uniform(size=200)
    noise = random.normal(size=200)
    rises, bends = np.exp(9 * x), (x - 0.5) ** 2
    assert weigh(x.tolist(), rises) == (pytest.approx(1), pytest.approx(1))
    correlation, share = weigh(x.tolist(), bends)
    assert abs(correlation) < 0.2 < 0.9 < share
    assert weigh(x.tolist(), noise)[1] < 0.05
    assert weigh(x.tolist(), -rises)[0] == pytest.approx(-1)


def test_one_diverged_run_does_not_dominate():
    x = list(range(20))
    values = np.arange(20.0)
    values[19] = 1e300
    assert weigh(x, values) == (pytest.approx(1), pytest.approx(1))
    values[19] = math.inf
    assert weigh(x, values) == (pytest.approx(1), pytest.approx(1))


def test_too_few_runs_have_no_share():
    assert weigh([1, 2, 3], np.array([1.0, 2.0, 3.0])) == (pytest.approx(1), None)
    assert weigh(["a", "b"], np.array([1.0, 2.0])) == (None, None)
    assert weigh([1, 2, 3, 4], np.ones(4)) == (None, None)


def test_unique_texts_do_not_need_memory_for_every_pair_of_runs():
    texts = [f"run {number}" for number in range(20_000)]
    assert weigh(texts, np.arange(20_000.0)) == (None, None)


def test_hparams_that_explain_most_come_first(tmp_path):
    random = np.random.default_rng(1)
    for seed in range(30):
        lr, width = float(random.uniform()), float(random.uniform())
        opt = "adam" if seed % 2 else "sgd"
        loss = lr + (0.3 if opt == "sgd" else 0.0)
        write(
            tmp_path / f"seed-{seed}",
            hparams(width=width, opt=opt, lr=lr, batch=32, **({"rare": 1.0} if not seed else {})),
            scalars("loss", (0, 9.0), (1, math.nan if seed == 7 else loss)),
        )
    client = Client(tmp_path)
    result = client.post("/api/importance", tag="loss")
    assert [hparam["name"] for hparam in result["hparams"]] == ["lr", "opt", "width"]
    lr, opt, width = result["hparams"]
    assert lr["importance"] > opt["importance"] > width["importance"]
    assert (lr["runs"], result["runs"]) == (29, 29)
    assert lr["correlation"] > 0.5
    assert opt["correlation"] is None
    assert result["constant"] == ["batch", "rare"]
    few = client.post("/api/importance", tag="loss", runs=["seed-1", "seed-2", "seed-3"])
    assert {hparam["name"]: hparam["importance"] for hparam in few["hparams"]} == {
        "lr": None,
        "opt": 0.0,
        "width": None,
    }
    assert (few["hparams"][0]["name"], few["runs"]) == ("opt", 3)


def test_unknown_tags_and_directions_are_refused(tmp_path):
    write(tmp_path / "a", hparams(lr=0.1), scalars("thing", (0, 1.0)))
    client = Client(tmp_path)
    missing = client.refused("/api/importance", tag="thin")
    assert missing == (404, "No scalar tag 'thin'. Did you mean 'thing'?")
    status, message = client.refused("/api/importance", tag="thing", stat="best")
    assert (status, message[:39]) == (400, "Cannot tell from the name of 'thing' wh")
