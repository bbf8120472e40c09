"""The tracker: a SummaryWriter that also records code, config, environment and status.

A `Tracker` (`tracker`) is a SummaryWriter whose event writer has more parts:

- `TrackedRun` (`tracked_run`) starts with the first event file and ends when it is closed. It
  owns the `heartbeat` with the status, the watch for stop requests (`_story.stop_request`) and
  the captures (`_log.capture`). It records the story (`record_story`) and finds the step at
  which a resumed run continues (`resume`);
- `BatchLog` (`batches`) counts batches and measures the time between them;
- `Mirroring` (`mirroring`) starts and ends the run of another tracker that mirrors the run.

`RunUploads` (`tracked_run`) uploads a run to its store, using `_log.writer.run_uploads`.
`RunLocation` (`run_folder`) chooses the folder of a new run. `_log.writer` describes the order in
which the event writer calls its parts: on close, the end of the run is recorded first, and the
upload comes last.

`artifacts` copies files into the run's folder, and `config` reads configurations. All threads
come from `_periodic`.
"""
