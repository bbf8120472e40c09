"""What a model is: hparams, graphs, embeddings, meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold.log import hparams
from runfold.log.arrays import warn
from runfold.log.endings import raised_last, raised_now
from runfold.log.guard import guarded
from runfold.log.writer import EventWriter
from runfold.text import escape

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


class Models(EventWriter):
    """The methods of SummaryWriter for these."""

    _session: hparams.Session | None = None
    # What ended the writer, once that is known: an exception, or nothing of the kind.
    _ended_by: tuple[BaseException | None] | None = None

    @guarded
    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any] | None = None,
        hparam_domain_discrete: Mapping[str, Any] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
        *,
        name: str | None = None,
    ) -> None:
        """Log the run's hparams, and what it is measured by, in this run and this file.

        When the writer is closed, the session of the run ends with its true status:
        success, or failure where an exception ended the `with` block or the program.
        Called again, the later values win in Runfold; TensorBoard keeps the first.

        Args:
            hparam_dict: bools, numbers and texts by name; None is a missing value, and
                anything else is stored as its text. Nested mappings are flattened:
                `{"adam": {"lr": 0.1}}` is `adam.lr`.
            metric_dict: the run's metrics by tag. Each is a series of this run, in
                which the value is logged; None where the run logs it anyway.
            hparam_domain_discrete: the values that an hparam may have, by its name.
            run_name: taken for torch's sake; there is no run below this one.
            global_step: the step of the metrics; the last one logged if left out.
            name: tensorboardX's name of `run_name`.
        """
        if not self._is_heard():
            return
        settings = hparams.as_settings(hparam_dict)
        metrics = {} if metric_dict is None else hparams.as_metrics(metric_dict)
        with self.lock:
            session = self._session or hparams.Session()
            known = session.settings | settings
            domains = hparams.as_domains(hparam_domain_discrete or {}, known)
            step = self._metric_step(global_step)
            for message in session.add(settings, domains, metrics):
                self.add_value("", message, 0)  # hparams hold from the first step on
            self._session = session
        for tag, value in metrics.items():
            if value is not None:
                self.add_scalar(tag, value, step)

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
            self.put("graph", graph_def, now)
            self.put("run_metadata", graph.METADATA_TAG, metadata, 0, now)

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
            self.put("graph", graph_def, now)

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
            metadata: a label for each point, or with a header a row of them.
            label_img: a picture for each point, (points, channels, height, width), of
                uint8, or of floats from 0 to 1.
            global_step: where it stands; 0 if left out.
            tag: the name of the embedding.
            metadata_header: the names of the columns of labels.
        """
        from runfold.log import embedding

        if not self._is_heard():
            return
        step = self._step(global_step, tag)
        try:
            with self.lock:
                embedding.write_files(
                    self.folder, tag, step, mat, metadata, metadata_header, label_img
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
            tag: its name.
            vertices: coordinates, (batch, vertices, 3).
            colors: of each vertex, (batch, vertices, 3), from 0 to 255.
            faces: the three vertices of each triangle, (batch, triangles, 3).
            config_dict: classes of three.js and their settings.
            global_step: where it stands; 0 if left out.
            walltime: seconds since 1970; now if left out.
        """
        from runfold.log import mesh

        if self._is_heard():
            parts = mesh.encode(tag, vertices, colors, faces, config_dict)
            step, at = self._step(global_step, tag), self._time(walltime, tag)
            self.put("summary", parts, step, at)

    def __exit__(self, *raised: object) -> None:
        error = raised[1] if len(raised) > 1 else None
        self._ended_by = (error if isinstance(error, BaseException) else None,)
        super().__exit__(*raised)

    def close(self) -> None:
        """Write the rest and end the file; later calls are refused. Raises what went wrong."""
        if self._ended_by is None:
            # `try: train() finally: writer.close()` is told by the exception on its way.
            self._ended_by = (raised_now(),)
        try:
            super().close()
        finally:
            self._ended_by = None  # it holds all frames that it went through

    def finish(self) -> None:
        """Add how the session ended, if there is one."""
        super().finish()
        if self._session is not None:
            for message in self._session.end(self._raised()):
                self.put("value", message, 0, self._time(None))

    def _raised(self) -> BaseException | None:
        """The exception that ends the writer, if one does."""
        return raised_last() if self._ended_by is None else self._ended_by[0]

    def _metric_step(self, step: Any) -> int:
        if step is None and self._default_step is None:
            return self.last_step
        return self._step(step, None)
