"""A stop request that a training program sends to its own run."""

import threading

import runfold as rf


class StopRequest:
    """Stops a `FrameworkRun`: `send` returns when the run has received the request."""

    def __init__(self, run):
        """Watch a run that has not started."""
        self.run = run
        self.is_received = threading.Event()
        self.on_stop = run.options.get("on_stop", run._note_stop)
        run.options["on_stop"] = self.receive

    def receive(self, request):
        self.on_stop(request)
        self.is_received.set()

    def send(self):
        rf.stop(self.run.folder, reason="enough", wait=False)
        assert self.is_received.wait(60)
