"""TensorBoard's readers of event files, on Runfold's: change the import and nothing else.

    from runfold.compat.tensorboard import EventAccumulator, EventMultiplexer
    from runfold.compat.tensorboard import event_accumulator, event_multiplexer

    events = EventAccumulator("runs/seed-1").Reload().Scalars("train/loss")

They answer with TensorBoard's own events and messages. Other than there, every point
is kept unless `size_guidance` says otherwise, and a damaged record costs no more than
itself: docs/guides/switch.md tells all. `rf.open` gives arrays and tables at once.

Modules:

    event_accumulator  EventAccumulator
    event_multiplexer  EventMultiplexer
    journal            everything in the files of one run, in order
    event_index        what a run holds at one moment
    purges             what a restart makes TensorBoard drop
    reservoir          all events of a tag, or TensorBoard's sample
    event_objects      TensorBoard's own event objects
"""

from runfold.compat.tensorboard import event_accumulator, event_multiplexer
from runfold.compat.tensorboard.event_accumulator import EventAccumulator
from runfold.compat.tensorboard.event_multiplexer import EventMultiplexer

__all__ = ["EventAccumulator", "EventMultiplexer", "event_accumulator", "event_multiplexer"]
