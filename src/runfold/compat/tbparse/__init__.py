"""Drop-in replacement for tbparse 0.0.9, based on Runfold's reader.

    from runfold.compat.tbparse import SummaryReader

    reader = SummaryReader("runs", extra_columns={"dir_name"})
    reader.scalars                      # step, tag, value, dir_name
    reader.hparams, reader.images       # ...

The tables have the same columns, types and order as tbparse's. Unlike in tbparse, images
and audio do not need TensorFlow, and only damaged records are lost; docs/guides/switch.md
lists all differences. `rf.open` has more tables, and its scalars include those of TensorFlow 2.

Modules:

    summary_reader   SummaryReader
    event_leaf       the rows of one event file
    event_frames     joins the rows of many files into one table
    value_columns    converts stored values to tbparse's columns
    histogram_views  converts histograms to distributions and to equal bins
    media_arrays     decodes images and audio clips to arrays
"""

from runfold.compat.tbparse import summary_reader
from runfold.compat.tbparse.summary_reader import SummaryReader

__all__ = ["SummaryReader", "__version__", "summary_reader"]

# The version of tbparse that is replaced; scripts check it.
__version__ = "0.0.9"
