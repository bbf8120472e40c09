"""Drop-in replacement for TensorBoard's event file readers, based on Runfold's reader.

    from runfold.compat.tensorboard import EventAccumulator, EventMultiplexer
    from runfold.compat.tensorboard import event_accumulator, event_multiplexer

    events = EventAccumulator("runs/seed-1").Reload().Scalars("train/loss")

The methods return TensorBoard's own events and messages. Unlike in TensorBoard, every point is
kept unless `size_guidance` says otherwise, and only damaged records are lost;
docs/guides/switch.md lists all differences. `rf.open` returns arrays and tables directly.

Modules:

    event_accumulator  EventAccumulator
    event_multiplexer  EventMultiplexer
    journal            the items of one run's event files, in order
    event_index        an index of a run's items by kind and tag
    purges             values that TensorBoard drops after a restart
    reservoir          all events of a tag, or TensorBoard's sample
    event_objects      TensorBoard's own event objects
"""

from runfold.compat.tensorboard import event_accumulator, event_multiplexer
from runfold.compat.tensorboard.event_accumulator import EventAccumulator
from runfold.compat.tensorboard.event_multiplexer import EventMultiplexer

__all__ = ["EventAccumulator", "EventMultiplexer", "event_accumulator", "event_multiplexer"]
