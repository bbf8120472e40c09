"""Drop-in replacement for tensorboard-reducer 0.4, based on Runfold's reader.

    from runfold.compat.tensorboard_reducer import load_tb_events, reduce_events, write_tb_events

    events = load_tb_events(glob("runs/seed-*"))        # {"val/loss": steps x runs, ...}
    reduced = reduce_events(events, ["mean", "std"])    # {"mean": {"val/loss": Series, ...}, ...}
    write_tb_events(reduced, "runs/folded")             # ["runs/folded-mean+std", ...]

Differences: every point of a series is read, including series from TensorFlow 2; `strict_steps`
requires identical steps, not just the same number of steps; the command can write data files in
every format; and only output written by Runfold is overwritten. `runs.reduce` and `runfold
reduce` also align steps, group runs and compute confidence intervals.

Modules:

    load    load_tb_events
    reduce  reduce_events
    write   write_tb_events and write_data_file
    main    the command
"""

from runfold import __version__
from runfold.compat.tensorboard_reducer.load import load_tb_events
from runfold.compat.tensorboard_reducer.main import main
from runfold.compat.tensorboard_reducer.reduce import reduce_events
from runfold.compat.tensorboard_reducer.write import write_data_file, write_tb_events

__all__ = [
    "__version__",
    "load_tb_events",
    "main",
    "reduce_events",
    "write_data_file",
    "write_tb_events",
]
