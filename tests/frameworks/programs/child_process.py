"""Runs a function in a child process, which may kill itself.

The child is a copy of this process, so fork before training starts threads. A process that
resumes a run must have been started after the process that it resumes: files that are created in
the same second are read in the order of their process numbers.
"""

import os
import signal
import sys
import traceback


def run_in_child(function):
    """Call a function in a child process, and return the process's exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def kill_and_resume(train, resume):
    """Call a function that kills its process, and then one that resumes training."""
    assert run_in_child(train) == -signal.SIGKILL
    assert run_in_child(resume) == 0


def kill_self(run):
    """Write the pending events of a run, and kill this process."""
    run.flush()
    os.kill(os.getpid(), signal.SIGKILL)
