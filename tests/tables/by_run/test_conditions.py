"""The runs that match a condition."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.logs import hparams, scalars, values, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils.tensorboard import SummaryWriter

import runfold as rf
from runfold._events.value_encoding import hparams_end, text
from runfold.errors import BadExpression


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> rf.Runs:
    logdir: Path = tmp_path_factory.mktemp("runs")
    write(
        logdir / "a",
        hparams(lr=0.1, bias=True, model="mlp", **{"optim.beta": 0.9, "odd name": 1.0}),
        scalars("loss", (0, 5.0), (10, 1.0), (20, 2.0)),
        values(text("note/text_summary", "good one"), hparams_end("success", 61.0)),
    )
    write(
        logdir / "b",
        hparams(lr=0.5, bias=False, status="old"),
        scalars("loss", (0, 4.0), (20, float("nan"))),
        values(hparams_end("failure", 3.0)),
    )
    write(logdir / "c", hparams(lr="auto"), scalars("acc", (0, 0.5), (30, 0.25)))
    write(logdir / "d", scalars("x", (0, 1.0)))
    return rf.open(logdir)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("lr < 0.2", "a"),
        ("lr >= 0.1", "ab"),
        ("0.05 < lr < 0.2", "a"),
        ("lr != 0.1", "bc"),
        ("not lr == 0.1", "bcd"),
        ("lr == 'auto'", "c"),
        ("lr == None", "d"),
        ("lr != None", "abc"),
        ("lr < 'b'", "c"),
        ("lr in (0.5, 'auto')", "bc"),
        ("lr not in [0.5, 'auto']", "a"),
        ("lr in (None, 0.1)", "ad"),
        ("lr * 10 > 2", "b"),
        ("lr + bias > 0", ""),
        ("1 / (lr - 0.1) > 0", "b"),
        ("(0 - lr) ** 0.5 == None", "abcd"),
        ("9 ** 9 ** 9 > lr", ""),
        ("-lr < -0.2", "b"),
        ("bias", "a"),
        ("bias == 1", ""),
        ("bias == False", "b"),
        ("bias < True", ""),
        ("model == 'mlp' or bias == False", "ab"),
        ("'ml' in model", "a"),
        ("optim.beta > 0.5", "a"),
        ("`odd name` == 1", "a"),
        ("hparam['odd name'] == 1", "a"),
        ("status == 'failed'", "b"),
        ("`status` == 'old'", "b"),
        ("failed", "b"),
        ("not failed", "acd"),
        ("run like '[ab]'", "ab"),
        ("run not like 'a' and name != 'd'", "bc"),
        ("lr like '*'", "c"),
        ("lr not like 'x*'", "abc"),
        ("last['loss'] < 3", "a"),
        ("last['loss'] != last['loss']", "b"),
        ("first['loss'] > 4", "a"),
        ("min['loss'] == 1 and max['loss'] == 5", "a"),
        ("best['loss'] > 1", "b"),
        ("best_step['loss'] == 10", "a"),
        ("best('acc') == 0.5", "c"),
        ("mean['loss'] < 3 and auc['loss'] > 0", "a"),
        ("at['loss', 15] == 1", "a"),
        ("at['loss', 21] == None", "abcd"),
        ("has('loss')", "ab"),
        ("has('l*') or has['note']", "ab"),
        ("text['note'] like '*good*'", "a"),
        ("steps > 20", "c"),
        ("points == 1", "d"),
        ("duration == 60", "a"),
        ("start < '2000-01-01'", "abcd"),
        ("'1999-12-31 23:59:59+00:00' < start", ""),
        ("True", "abcd"),
        ("None", ""),
    ],
)
def test_condition(runs: rf.Runs, condition: str, expected: str):
    assert "".join(runs.where(condition)) == expected


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a time zone that is nine hours ahead of UTC."""
    with monkeypatch.context() as context:
        context.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("start > '1970-01-01 08:59'", "ab"),
        ("start > '1970-01-01 09:01'", ""),
        ("start > '1969-12-31 23:59+00:00'", "ab"),
        ("start > '1970-01-01 00:01Z'", ""),
    ],
)
def test_a_time_without_an_offset_is_local(tmp_path: Path, condition: str, expected: str):
    for name in "ab":
        write(tmp_path / name, scalars("loss", (0, 1.0)))
    assert "".join(rf.open(tmp_path).where(condition)) == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("lrr < 1", "No run has an hparam 'lrr'. Did you mean 'lr'?\n  lrr < 1\n  ^"),
        ("1 < loss", "No run has an hparam 'loss'. For the last value of the tag, write"
         " last['loss'].\n  1 < loss\n      ^"),
        ("`run` == 1", "No run has an hparam 'run'. Available: bias, lr, model, odd name,"
         " optim.beta and 1 more.\n  `run` == 1\n  ^"),
        ("lr == null", "No run has an hparam 'null'. Write None.\n  lr == null\n        ^"),
        ("last['los'] < 1", "No run has a scalar tag 'los'. Did you mean 'loss'?"
         "\n  last['los'] < 1\n       ^"),
        ("has('lozz*')", "No run has a tag 'lozz*'.\n  has('lozz*')\n      ^"),
        ("hparam['LR'] > 0", "No run has an hparam 'LR'. Did you mean 'lr'?\n  hparam['LR'] > 0\n"
         "         ^"),
        ("start > 'soon'", "'soon' is not a time. Use a format such as '2026-01-31' or"
         " '2026-01-31 12:00'.\n  start > 'soon'\n          ^"),
    ],
)  # fmt: skip
def test_unknown_name_is_marked_in_the_message(runs: rf.Runs, condition: str, message: str):
    with pytest.raises(BadExpression) as caught:
        runs.where(condition)
    assert str(caught.value) == message


@pytest.mark.parametrize("condition", ["loss < 0.5", "0.1 > loss", "lr > 0 and `loss` >= -lr"])
def test_a_number_compared_with_text_that_has_the_name_of_a_tag_is_rejected(
    tmp_path: Path, condition: str
):
    write(tmp_path, scalars("loss", (1, 0.25)))
    (tmp_path / "config.json").write_text('{"loss": "mse", "lr": 0.1}')
    runs = rf.open(tmp_path)
    with pytest.raises(BadExpression) as caught:
        runs.where(condition)
    assert str(caught.value).startswith(
        "The hparam 'loss' is not a number in any run. For the last value of the tag, write"
        " last['loss']."
    )
    matches = "last['loss'] < 0.5 and loss == 'mse' and loss < 'n' and loss != 1"
    assert list(runs.where(matches)) == ["."]


def test_best_needs_a_direction(runs: rf.Runs):
    with pytest.raises(
        BadExpression, match="Cannot tell from the name of 'x' whether higher or lower is better"
    ):
        runs.where("best['x'] > 0")
    assert list(runs.where("best['x'] > 0", better="higher")) == ["d"]


def test_selected_runs_accept_names_that_only_other_runs_have(runs: rf.Runs):
    for some in (runs.where("run == 'd'"), runs.where("lr > 1")):
        assert list(some.where("lr > 9 or last['loss'] > 99 or not has('x')")) == []
        assert list(some.where("`odd name` == 'none of them'")) == []
        for wrong in ("lrr > 9", "last['los'] > 99", "has('y')", "lr >"):
            with pytest.raises(BadExpression):
                some.where(wrong)


def test_empty_logdir_accepts_any_name(tmp_path: Path):
    none = rf.open(tmp_path)
    assert list(none.where("anything > 1 and last['at all'] > 1 and has('x')")) == []
    with pytest.raises(BadExpression):
        none.where("anything >")


def test_folders_of_add_hparams_belong_to_their_run(tmp_path: Path):
    for rate in (0.1, 0.5):
        with SummaryWriter(str(tmp_path / f"lr-{rate}")) as writer:
            writer.add_scalar("loss", rate, 1)
            writer.add_hparams({"lr": rate}, {"hparam/acc": rate})
    runs = rf.open(tmp_path).where("lr < 0.2 and last['hparam/acc'] < 0.2")
    assert list(runs) == ["lr-0.1"]
    assert runs.table()["lr"].tolist() == [0.1]
    assert list(runs.reduce("mean", by="lr").groups) == ["lr=0.1"]


WORDS = ["lr", "bias", "model", "run", "status", "start", "steps", "last['loss']", "has('x')"]
WORDS += ["at['loss', 3]", "1", "0", "-2", "1e308", "'a'", "None", "True", "(1, 'a')", "lr"]
SIGNS = ["<", "==", "!=", "in", "not in", "like", "+", "*", "/", "//", "%", "**", "and", "or"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(WORDS), st.lists(st.tuples(*map(st.sampled_from, (SIGNS, WORDS))), max_size=6)
)
def test_no_condition_raises_anything_but_bad_expression(runs: rf.Runs, first, rest):
    condition = " ".join([first, *(part for pair in rest for part in pair)])
    try:
        chosen = set(runs.where(condition))
    except BadExpression:
        return
    assert chosen <= set(runs)
    assert set(runs.where(f"not ({condition})")) == set(runs) - chosen
