"""What a model is: hparams, graphs, embeddings, meshes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runfold.log import hparams
from runfold.log.arrays import as_tag, warn
from runfold.log.endings import raised_last, raised_now
from runfold.log.guard import guarded
from runfold.log.points import Points
from runfold.log.trials import Trials, read_earlier
from runfold.log.writer import EventWriter
from runfold.text import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Models(EventWriter):
    """The methods of SummaryWriter for these."""

    # Until SummaryWriter, which has the option, takes it away.
    purge_step: int | None = None
    _purged_from: int | None = None
    _trials: Trials | None = None
    # What ended the writer, once that is known: an exception, or nothing of the kind.
    _ended_by: tuple[BaseException | None] | None = None

    @guarded
    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any] | None = None,
        hparam_domain_discrete: Mapping[str, Any] | str | None = None,
        run_name: str | os.PathLike[str] | None = None,
        global_step: Any = None,
        *,
        name: str | os.PathLike[str] | None = None,
    ) -> None:
        """Log the hparams of this run, or of a trial below it, and the metrics that it reached.

        The first call describes this run, and is written to its event file. So is a
        call that repeats its hparams, or without metrics adds others. Any other call
        is a trial: a run in a folder `trial-2`, `trial-3`, ... below this one, or in
        the folder that `run_name` gives. TensorBoard lists each trial with its hparams
        and metrics. The same hparams again are the same trial.

        The session of this run ends when the writer is closed, as a success, or as a
        failure if an exception ended the `with` block or the program. A trial is
        complete when this returns.

        Args:
            hparam_dict: bools, numbers and texts by name. None is a missing value, and
                anything else is stored as its text. Nested mappings are flattened:
                `{"adam": {"lr": 0.1}}` is `adam.lr`.
            metric_dict: the metrics by tag, which are logged as scalars; None for a
                metric that the run logs anyway.
            hparam_domain_discrete: the possible values of hparams, by name. A str is
                tensorboardX's third argument, `name`, and `global_step` then comes next.
            run_name: the folder of a trial, below this run's; "." is this run.
            global_step: the step of the metrics. Default: the last step of this run,
                or for a trial the next one, from 0.
            name: tensorboardX's name for `run_name`.
        """
        if not self._is_heard():
            return
        given, label, at = hparams.sort_arguments(
            hparam_domain_discrete, run_name, global_step, name
        )
        settings = hparams.as_settings(hparam_dict)
        named = {} if metric_dict is None else hparams.as_metrics(metric_dict)
        metrics = {self._tag(tag, "metric_dict"): value for tag, value in named.items()}
        numbers = {tag: value for tag, value in metrics.items() if value is not None}
        # Not by the method of a tracker: a trial's step does not say where a run is resumed.
        step = self._default_step if at is None else Points._step(self, at, None)
        with self._lock:
            trials = self._trials = self._trials or self._make_trials()
            if not label and not trials.own.is_begun:
                trials.adopt(read_earlier(self.folder, self._paths))
            domains = hparams.as_domains(given or {}, trials.own.settings | settings)
            session = trials.find(settings, label, is_report=bool(numbers))
            trials.announce(domains, metrics)
            if session is trials.own:
                step = self._metric_step(step)
                for message in session.add(settings):
                    self.add_value("", message, 0)  # hparams hold from the first step on
        if session is trials.own:
            for tag, number in numbers.items():
                self.add_scalar(tag, number, step)
        elif not self._gives_way():
            # Without the lock, which must not be held while another writer's is taken.
            self._log_trial(session, settings, numbers, step)

    @guarded
    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the graph of a torch model, by torch's own tracer.

        Args:
            model: a `torch.nn.Module`.
            input_to_model: a tensor to feed it, or a tuple of several.
            verbose: print the graph.
            use_strict_trace: False lets the tracer follow lists and dicts that change.
        """
        from runfold.log import graph

        if self._is_heard():
            graph_def, metadata = graph.trace(model, input_to_model, verbose, use_strict_trace)
            now = self._time(None)
            self._put("graph", graph_def, now)
            self._put("run_metadata", graph.METADATA_TAG, metadata, 0, now)

    @guarded
    def add_onnx_graph(
        self,
        prototxt: str | os.PathLike[str] | None = None,
        *,
        onnx_model_file: str | os.PathLike[str] | None = None,
    ) -> None:
        """Log the graph of an ONNX file, by torch's own converter and the package onnx.

        `onnx_model_file` is tensorboardX's name of `prototxt`.
        """
        from runfold.log import graph

        file = prototxt if onnx_model_file is None else onnx_model_file
        if file is None:
            raise TypeError("add_onnx_graph needs the path of an ONNX file")
        if self._is_heard():
            graph_def, now = graph.read_onnx(file), self._time(None)
            self._put("graph", graph_def, now)

    @guarded
    def add_openvino_graph(self, xmlname: str | os.PathLike[str]) -> None:
        """Log the graph of an OpenVINO model, from its XML file."""
        from runfold.log import graph

        if self._is_heard():
            graph_def, now = graph.read_openvino(xmlname), self._time(None)
            self._put("graph", graph_def, now)

    @guarded
    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Write points, their labels and pictures as files for TensorBoard's projector.

        They are in the run's folder when this returns. An embedding of the same tag
        and step is replaced; those of other writers stay.

        Args:
            mat: the points, (points, dimensions).
            metadata: one label per point, or with a header one row of labels.
            label_img: one picture per point, (points, channels, height, width), of
                uint8, or of floats from 0 to 1.
            global_step: the step, or a word for it. Default: 0.
            tag: the name of the embedding.
            metadata_header: the names of the columns of labels.
        """
        from runfold.log import embedding

        if not self._is_heard():
            return
        name, step = as_tag(tag), global_step
        if not isinstance(step, str) or step.strip().isdecimal():
            step = self._step(step, name)
        try:
            with self._lock:
                embedding.write_files(
                    self.folder, name, step, mat, metadata, metadata_header, label_img
                )
        except OSError as error:
            if self._on_error == "raise":
                raise
            warn(f"{error}. The embedding '{escape(tag)}' is not logged.")

    @guarded
    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a mesh, or without faces a cloud of points.

        Args:
            tag: the name of the mesh.
            vertices: coordinates, (batch, vertices, 3).
            colors: of each vertex, (batch, vertices, 3), from 0 to 255.
            faces: the three vertices of each triangle, (batch, triangles, 3).
            config_dict: classes of three.js and their settings.
            global_step: the step. Default: 0.
            walltime: seconds since 1970. Default: now.
        """
        from runfold.log import mesh

        if self._is_heard():
            name = as_tag(tag)
            parts = mesh.encode(name, vertices, colors, faces, config_dict)
            self._put("summary", parts, self._step(global_step, name), self._time(walltime, name))

    def __exit__(self, *raised: object) -> None:
        error = raised[1] if len(raised) > 1 else None
        self._ended_by = (error if isinstance(error, BaseException) else None,)
        super().__exit__(*raised)

    def close(self) -> None:
        """Write pending events and close the file. Raises what went wrong if on_error="raise"."""
        if self._ended_by is None:
            # `try: train() finally: writer.close()` is told by the exception on its way.
            self._ended_by = (raised_now(),)
        try:
            super().close()
        finally:
            self._ended_by = None  # it holds all frames that it went through

    def _finish(self) -> None:
        """Add how the session ended, if there is one."""
        super()._finish()
        if self._trials is not None:
            for message in self._trials.end(self._raised()):
                self._put("value", message, 0, self._time(None))

    def _open(self) -> None:
        super()._open()
        if self.purge_step is not None:
            self._purged_from = self.purge_step

    def _log_trial(
        self,
        trial: hparams.Session,
        settings: Mapping[str, hparams.Setting],
        metrics: Mapping[str, float],
        step: int | None,
    ) -> None:
        """Write hparams and metrics to the folder of a trial. Raises OSError."""
        with self._lock:
            messages = trial.add(settings)
            at = trial.take_step(step) if metrics else 0
        if not messages and not metrics:
            return
        try:
            with self._make_trial_writer(trial.folder) as writer:
                if messages and self._purged_from is not None:
                    writer._put("session_start", self._purged_from, self._time(None))
                for message in messages:
                    writer.add_value("", message, 0)
                for tag, number in metrics.items():
                    writer.add_scalar(tag, number, at, self._default_walltime)
                for message in trial.end() if messages else ():
                    writer.add_value("", message, 0)
        except Exception:
            trial.is_begun = False  # the next call writes its hparams again
            raise

    def _make_trials(self) -> Trials:
        return Trials(self.folder)

    def _make_trial_writer(self, folder: str) -> EventWriter:
        staged_for = self._staged_for
        if staged_for is not None:
            staged_for = os.path.join(staged_for, os.path.relpath(folder, self.folder))
        # What fails is raised here, so that the call decides what becomes of it.
        return EventWriter(
            folder,
            suffix=self._suffix,
            flush_secs=self.flush_secs,
            sync_trackers=self._syncs_trackers,
            staged_for=staged_for,
        )

    def _raised(self) -> BaseException | None:
        """The exception that ends the writer, if one does."""
        return raised_last() if self._ended_by is None else self._ended_by[0]

    def _metric_step(self, step: Any) -> int:
        if step is None and self._default_step is None:
            return self.last_step
        return self._step(step, None)
