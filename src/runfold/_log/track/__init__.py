"""The tracker: a SummaryWriter that also records how its run came about and how it ends.

A `Tracker` (`tracker`) is a SummaryWriter whose event writer has more parts:

- `TrackedRun` (`tracked_run`) begins with the first event file and ends when it is closed. It
  has the `heartbeat` with the status, the watch for stop requests (`_story.stop_request`) and
  the captures (`_log.capture`); it records the story (`record_story`) and, for a resumed run,
  finds the step to continue at (`resume`);
- `BatchLog` (`batches`) counts batches, and measures the time between them.

`RunUploads` (`tracked_run`) sends a run to its store, by `_log.writer.run_uploads`. `RunLocation`
(`run_folder`) chooses the folder of a new run. The order in which the event writer calls its
parts is in `_log.writer`: on close the run's end comes first, and the upload last.

`artifacts` copies files into the run's folder, `config` reads configurations. All of their
threads come from `_periodic`.
"""
