"""Logging: the SummaryWriter, the tracker, and what writes their events in the background."""
