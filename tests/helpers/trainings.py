"""Real training scripts with `rf.track`, in separate processes that tests stop."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A stop request interrupts it, like Ctrl-C.
OBEDIENT = """
import sys, time
import runfold as rf
with rf.track(sys.argv[1], code=False, system=False) as run:
    run.log({"loss": 1.0}, step=0)
    run.flush()
    print("ready", flush=True)
    while True:
        time.sleep(0.01)
"""

# Notices the request but continues; SIGTERM ends it.
STUBBORN = OBEDIENT.replace("code=False", "code=False, on_stop=lambda request: None")

# Exits after a stop request once it has saved its model; it is saving until it reads a line.
SAVING = STUBBORN.replace("while True", "while not run.should_stop")
SAVING += "    input()\n    raise KeyboardInterrupt\n"

# Only SIGKILL ends it.
DEAF = STUBBORN.replace(
    "import sys, time", "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: None)"
)


@contextmanager
def training(folder: Path, script: str = OBEDIENT) -> Iterator["subprocess.Popen[str]"]:
    """Yield a training script whose run in a folder has started; it is ended afterwards."""
    command = [sys.executable, "-c", script, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
