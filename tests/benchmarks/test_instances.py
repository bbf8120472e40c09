"""The benchmark of the proxy, on a tiny response."""

from benchmarks import instances
from benchmarks.contest import RUNFOLD, Contender
from benchmarks.instances import LARGE, REQUEST
from benchmarks.measure import Cost
from benchmarks.serving import TENSORBOARD
from benchmarks.targets import contest_targets


def test_runfold_and_tensorboard_send_the_same_bytes_and_each_part_is_measured(tmp_path):
    contest = instances.make_contest(tmp_path, size=1000)
    for number, contender in enumerate(contest.contenders):
        contender.measure(tmp_path / str(number))
        assert not contender.trouble
        (cost,) = contender.costs
        assert 0 < cost.parts[REQUEST] < cost.wall
        assert cost.cpu > 0
    ours, theirs = (contest.load(tmp_path / str(number)) for number in range(2))
    ((size, _, _),) = ours.values()
    assert size == [1000]
    assert contest.compare(contest.contenders[1], ours, theirs) is None
    wrong = {key: (size + 1, None, value) for key, (size, _, value) in theirs.items()}
    assert contest.compare(contest.contenders[1], ours, wrong) == "The large responses differ."


def test_the_targets_are_a_ratio_an_added_time_and_a_share():
    def contender(name: str, wall: float, request: float, large: float) -> Contender:
        cost = Cost(1.0, wall, 1, 1, {REQUEST: request, LARGE: large})
        return Contender(name, lambda keep: cost, size=100, costs=[cost])

    ours = contender(RUNFOLD, 1.2, 0.009, 0.2)
    theirs = contender(TENSORBOARD, 1.0, 0.003, 0.1)
    targets = contest_targets({"tensorboard": {RUNFOLD: ours, TENSORBOARD: theirs}})
    assert [(target.bound, target.measured, target.is_met) for target in targets] == [
        ("<= 1.3x", "1.20x", True),
        ("< 5 ms", "6.0 ms", False),
        (">= 70 %", "50%", False),
    ]
