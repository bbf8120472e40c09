"""The tables that a run and many runs give, each kind by its method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold.select import Names, select

if TYPE_CHECKING:
    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.tables.table import Table


class Frames:
    """The tables that both one run and many can give, as pandas DataFrames of the class Table.

    Each method takes filters: a name, a glob, or a list of them. All tables
    have `run` and `tag` (categorical), `step` and `wall_time` columns, and
    those of the kind.
    """

    def _logs(self, runs: Names) -> list[RunLog]:
        """The logs that a filter selects, read."""
        raise AssertionError("a subclass says which")

    def scalars(self, tags: Names = None, *, runs: Names = None, wide: bool = False) -> Table:
        """Every scalar point: run, tag, step, wall_time, value.

        With `wide`, one column a tag and one row a step, indexed by run and step.
        """
        from runfold.tables import scalars

        logs = self._logs(runs)
        names = list(dict.fromkeys(tag for log in logs for tag in log.scalars))
        wanted = set(select(names, tags, where="of kind scalar"))
        # Not items(): a packed log decodes a series when it is asked for.
        series = [log.scalars[tag] for log in logs for tag in log.scalars if tag in wanted]
        return scalars.wide_frame(series) if wide else scalars.long_frame(series)

    def histograms(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every histogram: left, right, counts (arrays), min, max, num, sum, sum_squares."""
        from runfold.tables.kinds import histogram_frame

        return histogram_frame(self._stored("histogram", tags, runs))

    def images(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every image: index, width, height, image (`.pil()`, `.numpy()`, `.data`)."""
        from runfold.tables.kinds import image_frame

        return image_frame(self._stored("image", tags, runs))

    def boxes(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every picture with boxes: arrays of boxes and scores, labels, masks, the bare `image`."""
        from runfold.tables.kinds import boxes_frame

        return boxes_frame(self._stored("boxes", None, runs), tags)

    def audio(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every audio clip, with its sample rate and more, and `.wave()` and `.data`."""
        from runfold.tables.kinds import audio_frame

        return audio_frame(self._stored("audio", tags, runs))

    def text(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every text: a str, or an array of str."""
        from runfold.tables.kinds import text_frame

        return text_frame(self._stored("text", tags, runs))

    def tensors(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every tensor that is no other kind of data."""
        from runfold.tables.kinds import tensor_frame

        return tensor_frame(self._stored("tensor", tags, runs))

    def pr_curves(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every precision-recall curve, with an array for each of its lines."""
        from runfold.tables.kinds import pr_curve_frame

        return pr_curve_frame(self._stored("pr_curve", tags, runs))

    def meshes(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every mesh: vertices, faces, colors (arrays or None), config."""
        from runfold.tables.kinds import mesh_frame

        return mesh_frame(self._stored("mesh", None, runs), tags)

    def graphs(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every graph: how many nodes, and the graph."""
        from runfold.tables.kinds import graph_frame

        return graph_frame(self._stored("graph", tags, runs))

    def run_metadata(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every RunMetadata of TensorFlow's profiler."""
        from runfold.tables.kinds import run_metadata_frame

        return run_metadata_frame(self._stored("run_metadata", tags, runs))

    def layouts(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every custom scalars layout: its categories of charts."""
        from runfold.tables.kinds import layout_frame

        return layout_frame(self._stored("layout", tags, runs))

    def embeddings(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every embedding that a projector configuration names; files are read when asked for."""
        from runfold.tables.kinds import embedding_frame

        return embedding_frame(self._logs(runs), tags)

    def hparams(self, *, runs: Names = None, wide: bool = False) -> Table:
        """Every hparam: run, hparam, value. With `wide`, one row a run and one column an hparam."""
        from runfold.tables import hparams

        stored = self._stored("hparams", None, runs)
        return hparams.wide_frame(stored) if wide else hparams.long_frame(stored)

    def sessions(self, *, runs: Names = None) -> Table:
        """Every session that hparams were logged for: group, status, start and end time."""
        from runfold.tables import hparams

        return hparams.session_frame(self._stored("hparams", None, runs))

    def experiments(self, *, runs: Names = None) -> Table:
        """Every hparam that an experiment announces: type, domain and description."""
        from runfold.tables import hparams

        return hparams.experiment_frame(self._stored("hparams", None, runs))

    def metrics(self, *, runs: Names = None) -> Table:
        """Every metric that an hparams experiment names."""
        from runfold.tables import hparams

        return hparams.metric_frame(self._stored("hparams", None, runs))

    def _stored(self, kind: str, tags: Names, runs: Names) -> list[tuple[RunLog, Payloads]]:
        logs = self._logs(runs)
        stored = [
            (log, payloads.readable())
            for log in logs
            for (found, _), payloads in log.payloads.items()
            if found == kind
        ]
        names = list(dict.fromkeys(payloads.tag for _, payloads in stored))
        wanted = set(select(names, tags, where=f"of kind {kind}"))
        return [(log, payloads) for log, payloads in stored if payloads.tag in wanted]
