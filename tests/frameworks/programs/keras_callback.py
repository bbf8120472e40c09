"""Keras with RunfoldCallback on the back end in KERAS_BACKEND.

On TensorFlow, Keras's own callback logs the same training. On the others, TensorFlow cannot be
imported.
"""

import contextlib
import copy
import os
import signal
import subprocess
import sys
import threading

import keras
import numpy as np

import runfold as rf
from runfold.integrations.keras import RunfoldCallback, TFKerasTensorBoard

BACKEND = keras.config.backend()
OPTIONS = {"system": False, "code": False}
ROWS = 64
LOGGED = {
    "histogram_freq": 1,
    "write_images": True,
    "write_steps_per_second": True,
    "update_freq": 2,
    "embeddings_freq": 2,
    "embeddings_metadata": {"tokens": "words.txt"},
}


def make_model(optimizer="adam", **options):
    """Return a model with the same weights on every back end."""
    inputs = keras.Input((6,), name="text")
    x = keras.layers.Embedding(10, 4, name="tokens")(inputs)
    x = keras.layers.Conv1D(3, 2, activation="tanh", name="conv")(x)
    x = keras.layers.Flatten(name="flat")(x)
    model = keras.Model(inputs, keras.layers.Dense(1, name="out")(x), name="small")
    random = np.random.RandomState(0)
    model.set_weights([random.randn(*weight.shape) / 3 for weight in model.get_weights()])
    model.compile(optimizer, "mse", metrics=["mae"], **options)
    return model


def make_data(seed=0):
    random = np.random.RandomState(seed)
    inputs = random.randint(0, 10, (ROWS, 6))
    return inputs, inputs.mean(1, keepdims=True).astype("float32")


def fit(model, *callbacks, epochs=3, **options):
    """Train for 4 batches per epoch."""
    inputs, targets = make_data()
    return model.fit(
        inputs,
        targets,
        batch_size=12,
        epochs=epochs,
        validation_split=0.25,
        shuffle=False,
        callbacks=list(callbacks),
        verbose=0,
        **options,
    )


def log(folder, **options):
    return RunfoldCallback(f"logs/{folder}", **OPTIONS, **options)


class At(keras.callbacks.Callback):
    """Calls a function at the end of an epoch, or of one of its batches."""

    def __init__(self, epoch, function, batch=None):
        super().__init__()
        self.epoch, self.batch, self.function = epoch, batch, function

    def on_epoch_begin(self, epoch, logs=None):
        self.now = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.now, batch) == (self.epoch, self.batch):
            self.function()

    def on_epoch_end(self, epoch, logs=None):
        if self.batch is None and epoch == self.epoch:
            self.function()


def fit_all_kinds():
    """Train with everything that Keras's callback logs."""
    with open("words.txt", "w") as file:
        file.writelines(f"word {number}\n" for number in range(10))
    callbacks = [log("fit", **LOGGED)]
    if BACKEND == "tensorflow":
        os.makedirs("logs/original")
        metadata = {"embeddings_metadata": {"tokens": "words.txt"}}
        callbacks.append(keras.callbacks.TensorBoard("logs/original", **{**LOGGED, **metadata}))
    # On TensorFlow, other optimizers treat the gradients of embeddings as sparse.
    fit(make_model("sgd"), *callbacks)


def kill_self(callback):
    """Write the log and kill this process."""
    callback._train.flush()
    callback._validation.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def fit_until(*kills):
    """Train with a backup after each epoch, and kill the process at the points in `kills`."""
    callback = log("killed", update_freq="batch", resume=True, histogram_freq=1)
    # The backup of an epoch is saved after its metrics are logged.
    deaths = [At(epoch, lambda: kill_self(callback), batch) for epoch, batch in kills]
    fit(make_model(), callback, *deaths, keras.callbacks.BackupAndRestore("backup"), epochs=5)


def kill_and_resume():
    for mode in ("die-after-epoch", "die-in-epoch"):
        ended = subprocess.run([sys.executable, __file__, mode], stderr=subprocess.PIPE, text=True)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    fit_until()
    fit(make_model(), log("not-killed", update_freq="batch"), epochs=5)


def sweep():
    for rate in (0.1, 0.01):
        for seed in (0, 1):
            callback = log(f"sweep/{rate}-{seed}", hparams={"seed": seed}, single_run=True)
            fit(make_model(keras.optimizers.SGD(rate)), callback, epochs=1)
    callback = log("models")
    for rate in (0.1, 0.01):
        fit(make_model(keras.optimizers.SGD(rate)), callback, epochs=2)


def fail():
    def raise_error():
        raise ValueError("the data is gone")

    with contextlib.suppress(ValueError), log("failed") as callback:
        fit(make_model(), callback, At(1, raise_error))
    # The program handles the exception, and trains another model or ends.
    for name in ("failed-before", "failed-last"):
        callback = log(name)
        with contextlib.suppress(ValueError):
            fit(make_model(), callback, At(1, raise_error))
        if name == "failed-before":
            fit(make_model(), callback, epochs=1)


class WithoutEmbedding(keras.Model):
    """Has an embedding layer that it does not use, which Keras therefore never builds."""

    def __init__(self):
        super().__init__()
        self.tokens = keras.layers.Embedding(10, 4, name="tokens")
        self.out = keras.layers.Dense(1, name="out")

    def call(self, inputs):
        return self.out(inputs)


def fit_unused_layer():
    model = WithoutEmbedding()
    model.compile("sgd", "mse")
    fit(model, log("unused", embeddings_freq=1, histogram_freq=1), epochs=1)


def stop():
    is_received = threading.Event()
    callback = log("stopped", update_freq="batch", save_model=True)
    note = callback._train._note_stop
    callback._train.options["on_stop"] = lambda request: (note(request), is_received.set())

    def request_stop():
        rf.stop(callback.folder, reason="enough", wait=False)
        assert is_received.wait(60)

    model = make_model()
    fit(model, callback, At(1, request_stop, batch=0), epochs=50)
    print("epochs after the stop", len(model.history.epoch))


def fit_several_times():
    model, callback = make_model(steps_per_execution=2), log("again", update_freq="batch")
    fit(model, callback, epochs=2)
    model.evaluate(*make_data(), verbose=0, callbacks=[callback])
    fit(model, copy.deepcopy(callback), epochs=3, initial_epoch=2)
    # The folder already contains runs.
    callback = log("again", save_model=True, config={"width": {"first": 3}})
    model.evaluate(*make_data(), verbose=0, callbacks=[callback])
    fit(model, callback, epochs=1)


def log_one_run():
    os.environ["RUNFOLD_LOGDIR"] = os.path.abspath("logs/host")
    callback = RunfoldCallback(**OPTIONS, update_freq="batch")
    fit(make_model(), callback, At(1, lambda: fit(make_model(), log("inner"), epochs=1)), epochs=2)
    os.environ["RUNFOLD_LOGDIR"] = os.path.abspath("logs/trial")
    fit(make_model(), TFKerasTensorBoard(log_dir="ignored", **OPTIONS), epochs=1)
    del os.environ["RUNFOLD_LOGDIR"]


def log_bad_values():
    callback = log("bad", update_freq=1, embeddings_freq=1, embeddings_metadata="missing.txt")
    callback.tracker.add_scalar("before", 1.0, 0)
    callback.on_train_end()
    callback.tracker.add_scalar("before", 2.0, 1)
    model = make_model()
    fit(model, callback, epochs=1)
    callback.on_train_begin()
    callback.on_epoch_begin(1)
    for logs in ({"loss": "bad"}, {"loss": 0.5}, {"loss": "bad"}, None, 3, {"a": {"b": {"c": 1}}}):
        callback.on_train_batch_begin(0)
        callback.on_train_batch_end(0, logs)
    metrics = {"nan": float("nan"), "none": None, "val_tensor": keras.ops.ones(()), 7: 1.5}
    callback.on_epoch_end(1, metrics)
    callback.on_test_end({"nested": {"deep": keras.ops.ones((1,))}})
    callback.on_train_end()
    callback.on_epoch_end(2, {"late": 1.0})
    callback.on_train_end()
    plain = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
    callback = log("uncompiled", profile_batch=2)
    callback.set_model(plain)
    callback.on_test_end({"loss": 1.0})
    callback.on_epoch_begin(0)
    callback.on_epoch_end(0, {"loss": 1.0})
    callback.on_train_end()


def main():
    fit_all_kinds()
    if BACKEND == "jax":
        kill_and_resume()
        sweep()
        fail()
        fit_unused_layer()
        stop()
        fit_several_times()
        log_one_run()
        log_bad_values()


if __name__ == "__main__":
    if BACKEND != "tensorflow":
        # Keras itself imports TensorFlow if it can, when it saves a model.
        assert "tensorflow" not in sys.modules
        sys.modules["tensorflow"] = None
    if sys.argv[1:] == ["die-after-epoch"]:
        fit_until((1, None))
    elif sys.argv[1:] == ["die-in-epoch"]:
        fit_until((3, 1))
    else:
        main()
