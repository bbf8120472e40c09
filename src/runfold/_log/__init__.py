"""Logging: the SummaryWriter, the tracker, and what writes their events in the background.

Modules:

    writer    events checked, encoded and written in the background
    summary   SummaryWriter, every `add_*` call, and the values they write
    track     `rf.track`, a SummaryWriter that records how its run came about
    capture   code, console output, environment and system metrics
    masking   secrets hidden before anything is recorded
    trackers  W&B, MLflow and others, which receive what is logged
"""
