"""SummaryWriter methods for hparams, graphs, embeddings and meshes."""

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
    """Log the hparams of this run, or of a trial, with the resulting metrics.

    The first call describes this run. So do later calls with the same hparams, and calls without
    metrics that only add new hparams. Any other call logs a trial: a run in a separate folder,
    either `trial-2`, `trial-3`, ... below this run or the folder named by `run_name`. TensorBoard
    lists each trial with its hparams and metrics. Calls with the same hparams belong to the same
    trial.

    The session of this run ends when the writer is closed. Its status is success, or failure if
    an exception ended the `with` block or the program. A trial is complete when the call returns.

    Args:
        hparam_dict: bools, numbers and strings by name. None is a missing value; other types are
            stored as text. Nested mappings are flattened: `{"adam": {"lr": 0.1}}` becomes
            `adam.lr`.
        metric_dict: metrics by tag, logged as scalars. Use None for a metric that the run logs
            itself.
        hparam_domain_discrete: the possible values of each hparam. A str is taken as `name`,
            tensorboardX's third argument; the next argument is then `global_step`.
        run_name: the trial's folder, relative to this run's folder. "." is this run.
        global_step: the step of the metrics. Default: the last step of this run; for a trial, its
            next step, starting at 0.
        name: tensorboardX's name for `run_name`.

    Examples:
        >>> writer.add_hparams({"lr": 0.1, "batch_size": 32}, {"val/accuracy": 0.93})

        A sweep in one process, with one trial per call:

        >>> for lr in (0.1, 0.01):
        ...     writer.add_hparams({"lr": lr}, {"val/accuracy": train(lr)}, run_name=f"lr-{lr}")
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
    """Log the graph of a torch model, using torch's tracer.

    Args:
        model: a `torch.nn.Module`.
        input_to_model: an input tensor, or a tuple of them.
        verbose: print the graph.
        use_strict_trace: pass False for models that use mutable lists or dicts.

    Examples:
        >>> writer.add_graph(model, torch.rand(1, 3, 224, 224))
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
    """Log the graph in an ONNX file. Requires the packages torch and onnx.

    Args:
        prototxt: path of the ONNX file.
        onnx_model_file: tensorboardX's name for `prototxt`.
    """
    from runfold._log.summary import model_graph

    file = prototxt if onnx_model_file is None else onnx_model_file
    if file is None:
        raise TypeError("add_onnx_graph requires the path of an ONNX file")
    sink = self._event_writer
    if sink.accepts():
        graph_def, now = model_graph.read_onnx(file), sink.checks.time(None)
        sink.put("graph", graph_def, now)


@guarded
def add_openvino_graph(self: Writer, xmlname: str | os.PathLike[str]) -> None:
    """Log the graph of an OpenVINO model.

    Args:
        xmlname: path of the model's XML file.
    """
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
    """Log points, with optional labels and images, for TensorBoard's projector.

    The files are in the run's folder when the call returns. An embedding with the same tag and
    step is replaced; embeddings from other writers are kept.

    Args:
        mat: the points, shape (points, dimensions).
        metadata: one label per point or, with `metadata_header`, one row of labels per point.
        label_img: one image per point, shape (points, channels, height, width): uint8, or floats
            from 0 to 1.
        global_step: the step, or a name for it. Default: 0.
        tag: name of the embedding.
        metadata_header: names of the label columns.

    Examples:
        >>> writer.add_embedding(features, metadata=["cat", "dog", "cat"], global_step=10)
        >>> writer.add_embedding(
        ...     features, metadata=[["cat", 3], ["dog", 5]], metadata_header=["animal", "age"]
        ... )
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
        warn_caller(f"{error}. The embedding '{escape(tag)}' was not logged.")


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
    """Log a mesh, or a point cloud if `faces` is omitted.

    Args:
        tag: name of the series.
        vertices: coordinates, shape (batch, vertices, 3).
        colors: RGB color of each vertex, shape (batch, vertices, 3), from 0 to 255.
        faces: vertex indices of each triangle, shape (batch, triangles, 3).
        config_dict: three.js classes and their settings.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.

    Examples:
        >>> writer.add_mesh("cloud", vertices=np.random.rand(1, 100, 3))
        >>> writer.add_mesh("bunny", vertices, faces=triangles)
    """
    from runfold._log.summary import mesh_values

    sink = self._event_writer
    if sink.accepts():
        name = as_tag(tag)
        parts = mesh_values.encode(name, vertices, colors, faces, config_dict)
        sink.put(
            "summary", parts, sink.checks.step(global_step, name), sink.checks.time(walltime, name)
        )
