"""Event files written in the background, by composition.

An `EventWriter` (`event_writer`) has:

- a `Recorder` (`_core.recorder`), which encodes plain numbers in the thread that logs them;
- an `EventFile` (`current_file`): the file that is open, by a `Stream` (`new_event_file`), or by
  a `RankStream` (`rank_zero`) in a rank above zero of a distributed job;
- `Checks` (`checks`), which make tags, steps and times of what callers give;
- an `ErrorPolicy` (`guard`), which decides whether a call that fails raises or warns;
- parts and uploads, which live with the file (`life`). A `Remote` (`remote_log`) is an upload.

`_core.recorder.ScalarMethods` has the methods `add_scalar` and `log`. EventWriter and
SummaryWriter inherit them, so that a plain number takes one call of a C method.

The other way round, an event writer is the `Sink` (`sink`) of its parts and of the functions
that log: `accepts` says whether a call is recorded, `checks` gives tag, step and time, `put`
adds an event, and `@guarded` (`guard`) hands what a call raises to the error policy.

Every part has four verbs. The event writer calls them in this order:

==========  ==================================  ==========================================
verb        order                               when
==========  ==================================  ==========================================
reopen      file, uploads, parts from the last  a file is opened: the first, one after
                                                `close`, or the own file of a forked child
flush       parts, file                         events are written
close       parts, file, uploads                `close`, the end of the program, or the
                                                garbage collector
after_fork  parts, uploads, file                in the child, before anything is logged
==========  ==================================  ==========================================

Locks: `EventWriter.lock` is held while the file is opened, written or closed, also during
`flush` of the parts and `reopen` of the uploads; parts are closed without it, because they may
wait for threads that log. A second lock guards the events only, so that nobody who logs waits
for the disk. The `flusher` has the thread that writes for all writers of a process, and calls
them at the end of the program, on SIGTERM and around a fork.

`run_uploads` sends a run's folder to its store, and `exit_reason` finds the exception that ended
the program. `file_writer` has torch's and tensorboardX's FileWriter, `copying` lets closed
writers be pickled, `convert` reads the values of all frameworks, and `distributed_job` finds the
rank.
"""
