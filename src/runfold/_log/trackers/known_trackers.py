"""The supported experiment trackers, one class per tracker.

No tracker is imported here: a program that uses a tracker has already imported it.
"""

from __future__ import annotations

import functools
import io
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from runfold._conventions import HPARAMS_SESSION_START, TEXT_SUFFIX, is_story_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    from runfold._log.trackers.followed_files import Feed

_HEADER, _FOOTER = 12, 4


class Integration:
    """Finds a tracker's active run and sends it the events of a feed."""

    name: str
    # If this module is imported, the program uses the tracker.
    package: str
    # The method that ends the tracker's run.
    end_method = ""
    # The start of a sentence in a warning: how to send nothing to the tracker.
    switch = "Pass sync_trackers=False to the writer to send nothing to"
    # Whether the program was warned that the tracker did not receive everything.
    has_failed = False

    def __init__(self) -> None:
        self._foreign: list[Any] = []

    def find_run(self, package: Any, feed: Feed) -> Any:
        """Return the active run that accepts TensorBoard data, or None."""
        raise NotImplementedError

    def send(self, package: Any, run: Any, feed: Feed, size: int) -> None:
        """Send the run the new events in the first `size` bytes of the event file.

        If the tracker rejects an event, the others are still sent, and the last error is
        raised at the end.
        """
        refusal = None
        for event in self.new_events(feed, size):
            try:
                self.log_event(package, run, feed, event)
            except Exception as error:
                refusal = error
        if refusal is not None:
            raise refusal

    def log_event(self, package: Any, run: Any, feed: Feed, event: Event) -> None:
        """Send the run one event."""
        raise NotImplementedError

    def opened(self, package: Any, feed: Feed) -> None:
        """Do what the tracker does when a writer is created."""

    def watch_end(self, run: Any, settle: Callable[[], None]) -> None:
        """Call `settle` before the run ends."""
        end = getattr(run, self.end_method, None)
        if end is not None:

            @functools.wraps(end)
            def settle_and_end(*args: Any, **kwargs: Any) -> Any:
                settle()
                return end(*args, **kwargs)

            # Patch only this object, not the tracker's class.
            with suppress(AttributeError):
                setattr(run, self.end_method, settle_and_end)

    def forget(self, runs: list[Any]) -> None:
        """Ignore these runs from now on: they belong to the parent of a forked process."""
        self._foreign = runs

    def is_foreign(self, run: Any) -> bool:
        """Return whether the run belongs to the parent of a forked process."""
        return any(known is run for known in self._foreign)

    def new_events(self, feed: Feed, size: int) -> Iterator[Event]:
        """Yield the events that this tracker has not received yet."""
        from tensorboard.compat.proto.event_pb2 import Event

        position = feed.states.get(self.name, 0)
        if position >= size:
            return
        with open(feed.path, "rb") as file:
            file.seek(position)
            while position < size:
                length = int.from_bytes(file.read(_HEADER)[:8], "little")
                payload = file.read(length)
                file.seek(_FOOTER, 1)
                position += _HEADER + length + _FOOTER
                feed.states[self.name] = position
                yield Event.FromString(payload)


class Mirror(Integration):
    """Mirrors a writer: sends its events, and those of no other writer, to a run."""

    switch = "Log without mirror= to send nothing to"

    def end_program(self) -> None:
        """End the run with the next round, because the program ends."""

    def is_over(self, feed: Feed) -> bool:
        """Return whether the run ends after the data that a file now contains."""
        raise NotImplementedError

    def finish(self) -> None:
        """End the run."""

    def count_unsent(self, feed: Feed) -> int:
        """Return the number of logged values that the run lacks; 0 if a warning reported this."""
        raise NotImplementedError


def read_values(event: Event) -> list[Summary.Value]:
    """Return the values of an event, without the run information from `rf.track`."""
    return [value for value in event.summary.value if not is_story_tag(value.tag)]


def read_closure(function: Any) -> dict[str, Any]:
    """Return the variables that a function uses from its enclosing function."""
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    return dict(zip(function.__code__.co_freevars, cells, strict=True))


def read_scalar(value: Summary.Value) -> float | None:
    """Return the number in an old-style or new-style scalar, or None for other values."""
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if value.HasField("tensor") and value.metadata.plugin_data.plugin_name == "scalars":
        from tensorboard.util.tensor_util import make_ndarray

        array = make_ndarray(value.tensor)
        return float(array.reshape(-1)[0]) if array.size == 1 else None
    return None


def read_text(value: Summary.Value) -> str | None:
    """Return the text in a text value, or None for other values."""
    if value.metadata.plugin_data.plugin_name != "text" or not value.tensor.string_val:
        return None
    return "\n".join(text.decode(errors="replace") for text in value.tensor.string_val)


def read_hparams(value: Summary.Value) -> dict[str, Any]:
    """Return the run's hparams, or an empty dict for other values."""
    if value.tag != HPARAMS_SESSION_START:
        return {}
    from runfold._events.kinds.hparams import SessionStart, decode

    start = decode(value.SerializeToString())
    hparams = start.hparams if isinstance(start, SessionStart) else {}
    # Event files store integers as floats.
    return {
        name: int(setting) if isinstance(setting, float) and setting.is_integer() else setting
        for name, setting in hparams.items()
    }


class Mlflow(Integration):
    """MLflow, after `mlflow.pytorch.autolog()`: scalars and hparams."""

    name = "MLflow"
    package = "mlflow.pytorch"
    _settings = "mlflow.utils.autologging_utils"
    # The maximum number of params, and of metrics, in one request to MLflow's server.
    _most_entries = 100

    def find_run(self, package: Any, feed: Feed) -> Any:
        """Return the active run of the thread that opened the writer, or the latest run.

        If no run is active any more, the last run receives the remaining data.
        """
        settings = sys.modules[self._settings]
        is_exclusive = settings.get_autologging_config("pytorch", "exclusive", False)
        if is_exclusive or settings.autologging_is_disabled("pytorch"):
            return None
        fluent = sys.modules["mlflow.tracking.fluent"]
        own = fluent._active_run_stack.get_all_thread_values().get(feed.thread)
        active = own[-1] if own else fluent._get_latest_active_run()
        runs = self._runs(feed)
        if active is not None and not self.is_foreign(active) and active not in runs:
            runs.append(active)
        return runs[-1] if runs else None

    def watch_end(self, run: Any, settle: Callable[[], None]) -> None:
        """Do nothing: an MLflow run still accepts metrics after it has ended."""

    def send(self, package: Any, run: Any, feed: Feed, size: int) -> None:
        """Log metrics and hparams in batches, to the runs that were active at the time."""
        entities = sys.modules["mlflow.entities"]
        every = sys.modules[self._settings].get_autologging_config("pytorch", "log_every_n_step")
        batches: dict[str, tuple[list[Any], list[Any]]] = {}
        for event in self.new_events(feed, size):
            time = int(event.wall_time * 1000)
            metrics, params = batches.setdefault(self._find_run_id(feed, time), ([], []))
            for value in read_values(event):
                number = read_scalar(value)
                if number is not None and every and event.step % every == 0:
                    metrics.append(entities.Metric(value.tag, number, time, event.step))
                hparams = read_hparams(value).items()
                params += [entities.Param(name, str(setting)) for name, setting in hparams]
        client = sys.modules["mlflow"].MlflowClient()
        for run_id, (metrics, params) in batches.items():
            self._log(client, run_id, "metrics", metrics)
            self._log(client, run_id, "params", params)

    def _log(self, client: Any, run_id: str, kind: str, entries: list[Any]) -> None:
        """Log entries in batches; if MLflow rejects a batch, log its entries one by one."""
        refusal = None
        for start in range(0, len(entries), self._most_entries):
            batch = entries[start : start + self._most_entries]
            try:
                client.log_batch(run_id, **{kind: batch})
            except Exception as error:
                if getattr(error, "error_code", "") != "INVALID_PARAMETER_VALUE":
                    raise
                refusal = error
                for entry in batch:
                    with suppress(Exception):
                        client.log_batch(run_id, **{kind: [entry]})
        if refusal is not None:
            raise refusal

    def _find_run_id(self, feed: Feed, time: int) -> str:
        """Return the run that was active at a time in milliseconds."""
        runs = self._runs(feed)
        started = [run for run in runs if run.info.start_time <= time]
        run_id: str = (started[-1] if started else runs[0]).info.run_id
        return run_id

    def _runs(self, feed: Feed) -> list[Any]:
        """Return the runs that were active while the file was open, oldest first."""
        runs: list[Any] = feed.states.setdefault("mlflow runs", [])
        return runs


class SwanLab(Integration):
    """SwanLab, after `sync_tensorboard_torch()` or `sync_tensorboardX()`."""

    name = "SwanLab"
    package = "swanlab"
    end_method = "finish"

    def find_run(self, package: Any, feed: Feed) -> Any:
        """Return the active run."""
        if self._find_patch() is None or not package.has_run():
            return None
        run = package.get_run()
        return None if self.is_foreign(run) else run

    def opened(self, package: Any, feed: Feed) -> None:
        """Start a run if there is none, as SwanLab does when a writer is created."""
        if self._find_patch() is not None:
            config = {"tensorboard_logdir": feed.folder}
            if package.has_run():
                package.config.update(config)
            else:
                package.init(config=config)

    def log_event(self, package: Any, run: Any, feed: Feed, event: Event) -> None:
        """Log scalars, text and images."""
        types = self._find_patch()
        for value in read_values(event):
            number, text = read_scalar(value), read_text(value)
            if number is not None and "scalar" in types:
                run.log({value.tag: number}, step=event.step)
            elif text is not None and "text" in types:
                tag = value.tag.removesuffix(TEXT_SUFFIX)  # the suffix that writers add
                run.log({tag: package.Text(text)}, step=event.step)
            elif value.HasField("image") and "image" in types:
                from runfold._events.kinds.image import of_bytes

                pixels = of_bytes(value.image.encoded_image_string).numpy()
                run.log({value.tag: package.Image(pixels)}, step=event.step)

    def _find_patch(self) -> Any:
        """Return the kinds of data that SwanLab should sync, or None."""
        for name in ("torch.utils.tensorboard", "tensorboardX"):
            writer = getattr(sys.modules.get(name), "SummaryWriter", None)
            patched = getattr(writer, "add_scalar", None)
            if patched is not None and patched.__globals__["__name__"].startswith("swanlab."):
                types = read_closure(patched).get("types_set")
                return {"scalar", "text", "image"} if types is None else types
        return None


class ClearML(Integration):
    """ClearML, after `Task.init()`: everything it accepts from TensorBoard."""

    name = "ClearML"
    package = "clearml.binding.frameworks.tensorflow_bind"
    end_method = "close"

    def find_run(self, package: Any, feed: Feed) -> Any:
        """Return the task, unless its TensorBoard connection is disabled."""
        task = package.PatchSummaryToEventTransformer._current_task
        return None if self.is_foreign(task) else task

    def log_event(self, package: Any, run: Any, feed: Feed, event: Event) -> None:
        """Pass the event to the ClearML object that also receives events from torch's writer."""
        writer = feed.states.get("clearml writer")
        if writer is None or writer._logger is not run.get_logger():
            options = package.PatchSummaryToEventTransformer.defaults_dict
            writer = package.EventTrainsWriter(run.get_logger(), logdir=feed.folder, **options)
            feed.states["clearml writer"] = writer
        writer.add_event(event)


class Comet(Integration):
    """Comet, while an experiment with automatic metric logging is alive."""

    name = "Comet"
    package = "comet_ml"
    end_method = "end"

    def find_run(self, package: Any, feed: Feed) -> Any:
        """Return the experiment."""
        experiment = package.get_global_experiment()
        if experiment is None or not experiment.alive or self.is_foreign(experiment):
            return None
        is_off = experiment.disabled_monkey_patching or not experiment.auto_metric_logging
        return None if is_off or package.get_config("comet.disable_auto_logging") else experiment

    def log_event(self, package: Any, run: Any, feed: Feed, event: Event) -> None:
        """Log scalars, hparams and images."""
        for value in read_values(event):
            number = read_scalar(value)
            if number is not None:
                run.log_metric(value.tag, number, step=event.step)
            elif value.HasField("image"):
                image = io.BytesIO(value.image.encoded_image_string)
                run.log_image(image, name=value.tag, step=event.step)
            elif hparams := read_hparams(value):
                run.log_parameters(hparams)
