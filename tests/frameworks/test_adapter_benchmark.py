"""The benchmarks of the adapters, with few steps: all loggers log the same."""

import importlib.util
import sys
from pathlib import Path

from benchmarks import adapter_training, adapters, report
from benchmarks.adapter_loggers import FRAMEWORKS
from benchmarks.targets import contest_targets

MODULES = {
    **{name: framework.module for name, framework in FRAMEWORKS.items()},
    **{name: program.module for name, program in adapter_training.PROGRAMS.items()},
}
INSTALLED = {name for name, module in MODULES.items() if importlib.util.find_spec(module)}


def test_all_loggers_log_the_same_values():
    contest = adapters.make_contest(Path(sys.executable), steps=30)
    results = contest.run(1)
    assert list(results) == [adapters.WITHOUT, *FRAMEWORKS]
    for name, framework in FRAMEWORKS.items():
        if name in INSTALLED:
            (cost,) = results[name].costs
            kinds = [adapters.ADAPTER, adapters.ADD_SCALAR, adapters.LOG, adapters.ORIGINAL]
            kinds += [adapters.OTHER_LOGGER] * framework.has_other
            assert list(cost.parts) == kinds
            assert all(cost.parts.values())
        else:
            assert f"  {name}: not measured, because it is not installed" in report.table(contest)
    bounds = {target.subject: target.bound for target in contest_targets({"adapters": results})}
    assert bounds["adapters: Lightning, relative to its logger, our writer"] == "<= 1.05x"
    assert bounds["adapters: Lightning, relative to add_scalar"] == ""


def test_programs_log_the_same_losses_in_each_way():
    contest = adapter_training.make_contest(Path(sys.executable), steps=60, rounds=1)
    results = contest.run(1)
    for name, contender in results.items():
        assert bool(contender.costs) == (name in INSTALLED)
    (cost,) = results["Lightning"].costs
    assert cost.parts["in adapter us"] < cost.parts["adapter us"]
    shares = contest_targets({"training": results})
    assert "training: Lightning, time in the adapter as a share of a step" in [
        target.subject for target in shares if target.bound == "<= 5%"
    ]
