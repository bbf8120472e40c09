"""Numbers of every kind: scalars in bulk, tensors, histograms, curves, charts of them."""

from __future__ import annotations

from runfold.log.writer import EventWriter


class Numbers(EventWriter):
    """The methods of SummaryWriter for these."""
