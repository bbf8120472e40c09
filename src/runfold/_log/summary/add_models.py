"""What a model is: hparams, graphs, embeddings, meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._conventions import GRAPH_METADATA_TAG
from runfold._humanize import escape
from runfold._log.summary import hparams_session
from runfold._log.writer.convert import as_tag
from runfold._log.writer.guard import guarded
from runfold._warnings import warn_caller

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from runfold._log.writer.sink import Writer


@guarded
def add_hparams(
    self: Writer,
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
    if not self._event_writer.accepts():
        return
    domains, label, step = hparams_session.sort_arguments(
        hparam_domain_discrete, run_name, global_step, name
    )
    self._hparams.add(
        self._event_writer, hparam_dict, metric_dict, domains, label, step, self.add_scalar
    )


@guarded
def add_graph(
    self: Writer,
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
    from runfold._log.summary import model_graph

    sink = self._event_writer
    if sink.accepts():
        graph_def, metadata = model_graph.trace(model, input_to_model, verbose, use_strict_trace)
        now = sink.checks.time(None)
        sink.put("graph", graph_def, now)
        sink.put("run_metadata", GRAPH_METADATA_TAG, metadata, 0, now)


@guarded
def add_onnx_graph(
    self: Writer,
    prototxt: str | os.PathLike[str] | None = None,
    *,
    onnx_model_file: str | os.PathLike[str] | None = None,
) -> None:
    """Log the graph of an ONNX file, by torch's own converter and the package onnx.

    `onnx_model_file` is tensorboardX's name of `prototxt`.
    """
    from runfold._log.summary import model_graph

    file = prototxt if onnx_model_file is None else onnx_model_file
    if file is None:
        raise TypeError("add_onnx_graph needs the path of an ONNX file")
    sink = self._event_writer
    if sink.accepts():
        graph_def, now = model_graph.read_onnx(file), sink.checks.time(None)
        sink.put("graph", graph_def, now)


@guarded
def add_openvino_graph(self: Writer, xmlname: str | os.PathLike[str]) -> None:
    """Log the graph of an OpenVINO model, from its XML file."""
    from runfold._log.summary import model_graph

    sink = self._event_writer
    if sink.accepts():
        graph_def, now = model_graph.read_openvino(xmlname), sink.checks.time(None)
        sink.put("graph", graph_def, now)


@guarded
def add_embedding(
    self: Writer,
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
    from runfold._log.summary import embedding_files

    sink = self._event_writer
    if not sink.accepts():
        return
    name, step = as_tag(tag), global_step
    if not isinstance(step, str) or step.strip().isdecimal():
        step = sink.checks.step(step, name)
    try:
        with sink.lock:
            embedding_files.write_files(
                sink.folder, name, step, mat, metadata, metadata_header, label_img
            )
    except OSError as error:
        if sink.errors.are_raised:
            raise
        warn_caller(f"{error}. The embedding '{escape(tag)}' is not logged.")


@guarded
def add_mesh(
    self: Writer,
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
    from runfold._log.summary import mesh_values

    sink = self._event_writer
    if sink.accepts():
        name = as_tag(tag)
        parts = mesh_values.encode(name, vertices, colors, faces, config_dict)
        sink.put(
            "summary", parts, sink.checks.step(global_step, name), sink.checks.time(walltime, name)
        )
