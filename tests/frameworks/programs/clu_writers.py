"""RunfoldWriter alone, in clu's writers, and after a kill; with clu's own writer for comparison.

The argument `original` logs with clu's SummaryWriter, which needs TensorFlow, and with
RunfoldWriter in clu's writers. Without it, TensorFlow cannot be imported.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np

import runfold as rf
from runfold.integrations.clu import RunfoldWriter, create_default_writer

OPTIONS = {"system": False, "code": False}


def write_all(writer):
    """Call every method of clu's interface."""
    random = np.random.RandomState(0)
    image = jnp.asarray(random.rand(4, 5, 3) * 1.2 - 0.1)
    sound = jnp.asarray(random.rand(2, 50, 2) * 2.2 - 1.1)
    writer.write_hparams({"rate": 0.1, "layers": [8, 4], "optim": {"name": "sgd", "decay": None}})
    for step in (1, jnp.int32(5)):
        writer.write_scalars(step, {"loss": jnp.float32(0.1) * step, "count": np.int64(3), "x": 2})
        writer.write_scalars(step, {"half": jnp.bfloat16(1.5), "row": 0.5 + jnp.zeros(())})
        writer.write_images(step, {"one": image, "batch": jnp.stack([image] * 5)[..., :1]})
        writer.write_images(step, {"bytes": (random.rand(2, 4, 5, 3) * 255).astype(np.uint8)})
        writer.write_audios(step, {"sound": sound}, sample_rate=8000)
        writer.write_texts(step, {"note": "some *text*"})
        arrays = {"normal": random.randn(100), "same": jnp.ones(7), "few": jnp.arange(4.0)}
        writer.write_histograms(step, arrays, num_buckets={"few": 3})
        writer.write_summaries(step, {"matrix": jnp.arange(6).reshape(2, 3), "plain": 3.5})
        writer.write_summaries(step, {"table": np.array([["a", "b"]], object)}, {"table": METADATA})
    writer.flush()


def log_with_original():
    """Log with clu's own writers, and with RunfoldWriter inside them."""
    from clu import metric_writers
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    global METADATA
    METADATA = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name="text", content=b"\x08\x00")
    )
    asynchronous = RunfoldWriter("logs/async", **OPTIONS)
    assert isinstance(asynchronous, metric_writers.MetricWriter)
    original = metric_writers.SummaryWriter("logs/original")
    for writer in (
        metric_writers.MultiWriter([original, RunfoldWriter("logs/multi", **OPTIONS)]),
        metric_writers.AsyncMultiWriter([asynchronous]),
    ):
        with metric_writers.ensure_flushes(writer):
            write_all(writer)
        writer.write_videos(1, {"video": np.zeros((2, 4, 5, 3))})
        writer.close()
    write_points_with_tensorflow()


def write_points_with_tensorflow():
    """Log a point cloud as newer versions of clu do."""
    import tensorflow as tf
    from tensorboard.plugins.mesh import summary

    points, colors = make_points()
    with tf.summary.create_file_writer("logs/points-original").as_default():
        summary.mesh("cloud", points, colors=colors, step=2, config_dict={"camera": {"cls": "x"}})
    with RunfoldWriter("logs/points", **OPTIONS) as writer:
        writer.write_pointcloud(
            2,
            {"cloud": points},
            point_colors={"cloud": colors},
            configs={"cloud": {"camera": {"cls": "x"}}},
        )


def make_points():
    random = np.random.RandomState(1)
    return random.rand(1, 7, 3).astype(np.float32), random.randint(0, 255, (1, 7, 3))


@jax.jit
def step_down(weight, rate):
    """Return the weight after a step of gradient descent, and the loss before it."""
    loss, slope = jax.value_and_grad(lambda weight: (weight - 2) ** 2)(weight)
    return weight - rate * slope, loss


def train(writer, first=0, last=10, at=None, rate=0.1):
    """Save a checkpoint after 5 steps; `at` contains a step and the function to call there."""
    writer.write_hparams({"rate": rate})
    weight = jnp.float32(np.load("checkpoint.npy")) if first else jnp.float32(0)
    for step in range(first, last):
        weight, loss = step_down(weight, rate)
        writer.write_scalars(step, {"train/loss": loss})
        if step == 4 and not first:
            np.save("checkpoint.npy", weight)
        if at is not None and step == at[0]:
            at[1]()


def train_until_killed():
    writer = RunfoldWriter("logs/killed", **OPTIONS)

    def kill_self():
        writer.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    train(writer, at=(7, kill_self))


def kill_and_resume():
    ended = subprocess.run([sys.executable, __file__, "killed"], stderr=subprocess.PIPE, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    with RunfoldWriter("logs/killed", resume=True, **OPTIONS) as writer:
        train(writer, first=5)
    with RunfoldWriter("logs/not-killed", **OPTIONS) as writer:
        train(writer)


def sweep():
    for rate in (0.1, 0.01):
        for seed in (0, 1):
            with RunfoldWriter("logs/sweep", name=f"{rate}-{seed}", **OPTIONS) as writer:
                train(writer, last=3, rate=rate)


def fail():
    def raise_error():
        raise ValueError("the data is gone")

    writer = RunfoldWriter("logs/failed", **OPTIONS)
    with contextlib.suppress(ValueError):
        try:
            train(writer, at=(2, raise_error))
        finally:
            writer.close()


def stop():
    """Send a stop request that interrupts the loop."""
    writer = RunfoldWriter("logs/stopped", **OPTIONS)

    def request_stop():
        rf.stop(writer.folder, reason="enough", wait=False)
        threading.Event().wait(60)

    with contextlib.suppress(KeyboardInterrupt), writer:
        train(writer, last=1000, at=(2, request_stop))


def write_in_thread():
    logging.basicConfig(level=logging.INFO, filename="log.txt", format="%(message)s")
    logging.getLogger("jax").setLevel(logging.WARNING)
    writer = create_default_writer("logs/default", collection="train", **OPTIONS)
    train(writer)
    writer.flush()
    rows = len(rf.open("logs/default")["train"]["train/loss"])
    writer.close()
    silent = create_default_writer("logs/silent", just_logging=True, **OPTIONS)
    silent.write_scalars(1, {"only": 3})
    silent.close()
    assert rows == 10
    assert not os.listdir("logs/silent")


def log_bad_values():
    writer = RunfoldWriter("logs/bad", **OPTIONS)
    writer.close()
    deleted = jnp.ones(3)
    deleted.delete()
    for step in (0, 1):
        writer.write_scalars(
            step, {"text": "bad", "vector": jnp.ones(3), "nested": {"a": {"b": 1}}}
        )
        writer.write_scalars(step, {"none": None, "nan": jnp.nan, "gone": deleted})
        writer.write_images(step, {"image": jnp.ones((3, 3)), "empty": np.zeros((0, 2, 2, 3))})
        writer.write_audios(step, {"audio": "x"}, sample_rate=8000)
        writer.write_histograms(step, {"histogram": [], "other": [jnp.inf]}, {"other": 0})
        writer.write_summaries(step, {"summary": object()}, {"summary": 3})
        writer.write_pointcloud(step, {"cloud": jnp.ones(3)})
        writer.write_videos(step, {"video": jnp.ones(3)})
        writer.write_texts(step, {"text/number": 3})
        writer.close()
    writer.write_histograms(2, {"part": np.array([1.0, np.nan, np.inf])})
    writer.write_videos(2, {"video": np.zeros((2, 4, 5, 3))})
    writer.close()
    first, second = (RunfoldWriter("logs/two", name=name, **OPTIONS) for name in "ab")
    for step in range(3):
        first.write_scalars(step, {"loss": step})
        second.write_scalars(step, {"loss": -step})
    first.close()
    second.close()


def main():
    assert "tensorflow" not in sys.modules
    sys.modules["tensorflow"] = None
    kill_and_resume()
    sweep()
    fail()
    stop()
    write_in_thread()
    log_bad_values()


if __name__ == "__main__":
    if sys.argv[1:] == ["original"]:
        log_with_original()
    elif sys.argv[1:] == ["killed"]:
        train_until_killed()
    else:
        main()
