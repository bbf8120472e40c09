"""Runs a program with the original writers, or with Runfold's writer instead.

    python swap.py original program.py
    python swap.py runfold program.py

The program is unchanged: it imports the writer from torch or tensorboardX. TensorBoard does not
import TensorFlow unless the program mentions it.
"""

import os
import runpy
import sys
from pathlib import Path


def put_runfold_in_place() -> None:
    """Replace the class SummaryWriter everywhere in torch and tensorboardX."""
    import tensorboardX
    import tensorboardX.writer
    import torch.utils.tensorboard
    import torch.utils.tensorboard.writer

    import runfold

    for module in (
        tensorboardX,
        tensorboardX.writer,
        torch.utils.tensorboard,
        torch.utils.tensorboard.writer,
    ):
        module.SummaryWriter = runfold.SummaryWriter


if __name__ == "__main__":
    _, writer, program, *arguments = sys.argv
    if "tensorflow" not in Path(program).read_text(encoding="utf-8"):
        import no_tensorflow  # noqa: F401
    if writer == "runfold":
        put_runfold_in_place()
    # Python does the same for a script.
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(program)
    runpy.run_path(program, run_name="__main__")
