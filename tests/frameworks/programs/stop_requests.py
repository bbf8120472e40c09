"""A stop request that a program sends to its own run."""

import threading

import runfold as rf


class Stopper:
    """Sends a stop request, and returns when the run has received it."""

    def __init__(self, framework_run):
        self.run = framework_run
        self.is_received = threading.Event()
        framework_run.options["on_stop"] = self.receive

    def receive(self, request):
        self.run._note_stop(request)
        self.is_received.set()

    def stop(self):
        rf.stop(self.run.folder, reason="enough", wait=False)
        assert self.is_received.wait(60)
