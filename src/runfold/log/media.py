"""Pictures, figures, films, sound and text."""

from __future__ import annotations

from runfold.log.writer import EventWriter


class Media(EventWriter):
    """The methods of SummaryWriter for these."""
