"""Event files, written in the background.

An `EventWriter` (`event_writer`) is composed of:

- a `Recorder` (`_core.recorder`), which encodes plain numbers in the calling thread;
- an `EventFile` (`current_file`), the open file. It writes through a `Stream` (`new_event_file`),
  or through a `RankStream` (`rank_zero`) in ranks above zero of a distributed job;
- `Checks` (`checks`), which convert arguments to tags, steps and times;
- an `ErrorPolicy` (`guard`), which decides whether a failed call raises or warns;
- parts and uploads (`life`), which are opened and closed with the file. A `Remote`
  (`remote_log`) is an upload.

`_core.recorder.ScalarMethods` implements `add_scalar` and `log`. EventWriter and SummaryWriter
inherit them, so logging a plain number takes a single call to a C method.

Parts, and the functions that log, see the event writer as a `Sink` (`sink`): `accepts` returns
whether to record a call, `checks` returns tag, step and time, `put` adds an event, and
`@guarded` (`guard`) passes exceptions to the error policy.

Every part has four methods. The event writer calls them in this order:

==========  ==================================  ==========================================
method      order                               when
==========  ==================================  ==========================================
reopen      file, uploads, parts in reverse     a file is opened: the first, one after
                                                `close`, or a forked child's own file
flush       parts, file                         events are written
close       parts, file, uploads                `close`, the end of the program, or the
                                                garbage collector
after_fork  parts, uploads, file                in the child, before anything is logged
==========  ==================================  ==========================================

Locks: `EventWriter.lock` is held while the file is opened, written or closed, and while parts
are flushed and uploads reopened. Parts are closed without it, because they may wait for threads
that log. A second lock protects only the events, so logging never waits for the disk. The
`flusher` runs the thread that writes for all writers of a process, and calls the writers at the
end of the program, on SIGTERM and around a fork.

`run_uploads` uploads a run's folder to its store. `exit_reason` finds the exception that ended
the program. `file_writer` implements the FileWriter of torch and tensorboardX. `copying` pickles
closed writers. `convert` reads values from all frameworks. `distributed_job` finds the rank.
"""
