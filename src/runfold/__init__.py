"""Runfold makes TensorBoard logs useful after training.

    import runfold as rf

    runs = rf.open("runs/")
    runs["seed-1"]["train/loss"].values
    runs.scalars(tags="train/*")

Public names:

    rf.open           open the runs below one or more paths
    rf.Runs           the runs of a logdir: tables, queries, reductions and figures
    rf.Run            one run: its series, tables and metadata
    rf.Series         the scalar points of one tag in one run
    rf.SummaryWriter  replacement for the writers of torch and tensorboardX
    rf.track          log a run with everything needed to reproduce it
    rf.stop           stop a tracked run
    rf.edit           write an edited copy of a logdir
    rf.repair         write a copy of a logdir with repaired event files
    rf.upload         upload a run or a logdir to a store
    rf.fetch_file     fetch a file of a run that was opened by URL
    rf.read_table     read a table from an exported Parquet file
    rf.experiments    the experiments of a logdir
    rf.errors         the exceptions that Runfold raises

`runfold.compat` and `runfold.integrations` are also public. Everything else is private and
starts with an underscore. Names are imported on first use, so `import runfold` takes
almost no time.

Modules, from the lowest layer to the highest:

    _system       system calls that Windows lacks
    _conventions  names of files, folders and tags
    _humanize     names and quantities formatted for people
    _labels       short, distinct labels
    _progress     progress bars
    _files        safe access to files in shared folders
    _undo         removal of unfinished output
    _state        folders for the user's own files
    errors        the exceptions that Runfold raises
    _warnings     warnings at the caller's line, and from threads
    _periodic     threads that call a function every few seconds
    _atomic       output that appears only when it is complete
    _streams      standard input and output
    _signals      Ctrl-C and SIGTERM
    _select       runs and tags selected by name, glob or list
    _core         bytes: framing, checksums, the protobuf wire format
    _events       reading one event file
    _storage      logs in object stores and on other machines
    _logdir       grouping event files into runs
    _engines      work on a Ray cluster
    _index        what was read from a logdir, kept for the next program
    _story        information that a run records about itself
    _log          SummaryWriter and the tracker
    _edit         editing and repairing logs on disk
    _pack         a logdir in one Parquet file
    _tables       DataFrames, one row per run, SQL
    _reduce       reducing runs to curves
    _compare      comparing groups of runs
    _export       writing results to files
    _plot         figures
    _reduced      the result of a reduction
    _run          Run
    _runs         Runs
    _experiments  folders below a logdir, by short ids
    _serve        the web server and TensorBoard instances
    compat        drop-in replacements for other packages
    integrations  loggers and callbacks for training frameworks
    _cli          the command line
"""

from typing import TYPE_CHECKING

__version__ = "0.2.0"

__all__ = [
    "Run",
    "Runs",
    "Series",
    "SummaryWriter",
    "edit",
    "errors",
    "experiments",
    "fetch_file",
    "open",
    "read_table",
    "repair",
    "stop",
    "track",
    "upload",
]

if TYPE_CHECKING:
    from runfold import errors
    from runfold._edit.apply_edit import edit
    from runfold._edit.repairs import repair
    from runfold._experiments.experiment import open_experiments as experiments
    from runfold._log.summary.summary_writer import SummaryWriter
    from runfold._log.track.tracker import Tracker
    from runfold._logdir.series import Series
    from runfold._run import Run
    from runfold._runs import Runs
    from runfold._runs import open_runs as open
    from runfold._storage.local_paths import fetch_file
    from runfold._storage.uploader import upload_folder as upload
    from runfold._story.stopping import stop_run as stop
    from runfold._tables.arrow.arrow_reader import read_table

    track = Tracker

_MODULES = {
    "Run": ("runfold._run", "Run"),
    "Runs": ("runfold._runs", "Runs"),
    # Importing Series from this module adds its plot method.
    "Series": ("runfold._run", "Series"),
    "SummaryWriter": ("runfold._log.summary.summary_writer", "SummaryWriter"),
    "edit": ("runfold._edit.apply_edit", "edit"),
    "errors": ("runfold.errors", None),
    "experiments": ("runfold._experiments.experiment", "open_experiments"),
    "fetch_file": ("runfold._storage.local_paths", "fetch_file"),
    "open": ("runfold._runs", "open_runs"),
    "read_table": ("runfold._tables.arrow.arrow_reader", "read_table"),
    "repair": ("runfold._edit.repairs", "repair"),
    "stop": ("runfold._story.stopping", "stop_run"),
    "track": ("runfold._log.track.tracker", "Tracker"),
    "upload": ("runfold._storage.uploader", "upload_folder"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'runfold' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _MODULES[name]
    value: object = import_module(module)
    if attribute is not None:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
