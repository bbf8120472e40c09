"""Logging: SummaryWriter, `rf.track`, and the background writer that both use.

Modules:

    writer    checks, encodes and writes events in the background
    summary   SummaryWriter, its `add_*` methods and the values that they write
    track     `rf.track`, a SummaryWriter that also records code, config and status
    capture   records code, console output, environment and system metrics
    masking   hides secrets before anything is recorded
    trackers  forwards logged values to W&B, MLflow and other trackers
"""
