"""A logdir that contains everything the page can show, written by a typical training script."""

import os
import subprocess
import sys
from pathlib import Path

from helpers.repositories import make_repository, write

# Two learning rates with two seeds each; the last run fails.
RUNS = ["lr-0.01/seed-0", "lr-0.01/seed-1", "lr-0.1/seed-0", "lr-0.1/seed-1"]
FAILED = RUNS[-1]
STEPS = 300
PICTURE_STEPS = [0, 100, 200]
COMMITTED = "SCALE = 1.0\n"
CHANGED = "SCALE = 2.0\n"

TRAIN = """
import sys
import numpy as np
import runfold as rf
from model import SCALE

PIXELS = np.full((3, 40, 60), 200, np.uint8)
MASKS = np.zeros((2, 40, 60), bool)
MASKS[0, 5:15, 5:25] = MASKS[1, 20:35, 30:55] = True

def train(folder, lr, seed):
    rng = np.random.default_rng(seed)
    config = {"lr": lr, "seed": seed, "model": {"width": 64}}
    run = rf.track(folder, hparams={"lr": lr, "seed": seed}, config=config, output=True, system=0.1)
    with run:
        print(f"training with lr {lr}")
        for step in range(300):
            loss = SCALE * np.exp(-lr * step / 10) + rng.normal(0, 0.01)
            run.log({"train/loss": loss, "val/loss": loss + 0.1, "accuracy": 1 - loss}, step=step)
            if step == 150:
                run.mark("half way")
        for step in (0, 100, 200):
            boxes = [[5, 5, 25, 15], [30, 20, 55, 35]]
            run.add_image_with_boxes(
                "found", PIXELS - step // 2, boxes, step, labels=["cat", "dog"],
                scores=[0.9, 0.4], masks=MASKS,
            )
            run.add_image("plain", PIXELS - step // 2, step)
            run.add_audio("tone", np.sin(np.arange(800) * 0.3), step, sample_rate=8000)
            run.add_text("notes", f"# Step {step}\\n\\nIt **learns**:\\n\\n- `a`\\n- b", step)
            run.add_histogram("weights", rng.normal(0, 1 + step, 500), step)
            labels = rng.integers(0, 2, 100)
            run.add_pr_curve("pr", labels, labels * 0.6 + rng.random(100) * 0.4, step)
        run.add_mesh("shape", [[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]], faces=[[[0, 1, 2]]])
        run.save("model.py")
        print("done")
        if (lr, seed) == (0.1, 1):
            raise ValueError("the loss is not what it was")

for lr in (0.01, 0.1):
    for seed in (0, 1):
        try:
            train(f"{sys.argv[1]}/lr-{lr:g}/seed-{seed}", lr, seed)
        except ValueError:
            pass
"""


def train_all(folder: Path) -> Path:
    """Return the logdir of four runs, trained with a file that was changed after the commit."""
    code = folder / "code"
    folder.mkdir(parents=True, exist_ok=True)
    make_repository(code, {"train.py": TRAIN, "model.py": COMMITTED})
    write(code, {"model.py": CHANGED})
    logdir = folder / "logs"
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    command = [sys.executable, "train.py", str(logdir)]
    subprocess.run(command, cwd=code, env=env, check=True, capture_output=True)
    return logdir
