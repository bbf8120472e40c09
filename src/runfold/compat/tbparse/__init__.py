"""What tbparse 0.0.9 offers, on Runfold's reader: change the import and nothing else.

    from runfold.compat.tbparse import SummaryReader

    reader = SummaryReader("runs", extra_columns={"dir_name"})
    reader.scalars                      # step, tag, value, dir_name
    reader.hparams, reader.images       # ...

The tables have the columns, types and order of tbparse's. Other than there, images and
audio need no TensorFlow, and a damaged file costs no more than its bad records:
docs/guides/switch.md tells all. `rf.open` has more tables, and scalars whatever wrote them.

Modules:

    summary_reader   SummaryReader
    event_leaf       one event file and its rows
    event_frames     the rows of many files as one table
    value_columns    stored values as tbparse's columns
    histogram_views  histograms as distributions and in equal buckets
    media_arrays     images and clips as arrays
"""

from runfold.compat.tbparse import summary_reader
from runfold.compat.tbparse.summary_reader import SummaryReader

__all__ = ["SummaryReader", "__version__", "summary_reader"]

# The version whose interface this is: scripts compare it.
__version__ = "0.0.9"
