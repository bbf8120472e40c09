"""torch.monitor: its event handler, which writes counters' statistics as scalars."""

from datetime import datetime

from torch.monitor import (
    Event,
    TensorboardEventHandler,
    log_event,
    register_event_handler,
    unregister_event_handler,
)
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("logs")
handle = register_event_handler(TensorboardEventHandler(writer))
for step in range(3):
    log_event(
        Event(
            "torch.monitor.Stat",
            datetime(2026, 1, 1 + step),
            {"loss.mean": step / 2, "loss.count": step},
        )
    )
unregister_event_handler(handle)
writer.close()
