"""The tables that a run and many runs give, each kind by its method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._select import Names, select

if TYPE_CHECKING:
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table


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
        from runfold._tables.frames import scalar_frame

        logs = self._logs(runs)
        names = list(dict.fromkeys(tag for log in logs for tag in log.scalars))
        wanted = set(select(names, tags, where="of kind scalar"))
        # Not items(): a packed log decodes a series when it is asked for.
        series = [log.scalars[tag] for log in logs for tag in log.scalars if tag in wanted]
        return scalar_frame.wide_frame(series) if wide else scalar_frame.long_frame(series)

    def histograms(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every histogram: left, right, counts (arrays), min, max, num, sum, sum_squares."""
        return self._frame("histogram", tags, runs)

    def images(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every image: index, width, height, image (`.pil()`, `.numpy()`, `.data`)."""
        return self._frame("image", tags, runs)

    def boxes(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every picture with boxes: arrays of boxes and scores, labels, masks, the bare `image`."""
        return self._frame("boxes", tags, runs)

    def audio(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every audio clip, with its sample rate and more, and `.wave()` and `.data`."""
        return self._frame("audio", tags, runs)

    def text(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every text: a str, or an array of str."""
        return self._frame("text", tags, runs)

    def tensors(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every tensor that is no other kind of data."""
        return self._frame("tensor", tags, runs)

    def pr_curves(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every precision-recall curve, with an array for each of its lines."""
        return self._frame("pr_curve", tags, runs)

    def meshes(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every mesh: vertices, faces, colors (arrays or None), config."""
        return self._frame("mesh", tags, runs)

    def graphs(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every graph: how many nodes, and the graph."""
        return self._frame("graph", tags, runs)

    def run_metadata(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every RunMetadata of TensorFlow's profiler."""
        return self._frame("run_metadata", tags, runs)

    def layouts(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every custom scalars layout: its categories of charts."""
        return self._frame("layout", tags, runs)

    def embeddings(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Every embedding that a projector configuration names; files are read when asked for."""
        from runfold._tables.frames.kind_frames import embedding_frame

        return embedding_frame(self._logs(runs), tags)

    def hparams(self, *, runs: Names = None, wide: bool = False) -> Table:
        """Every hparam: run, hparam, value. With `wide`, one row a run and one column an hparam."""
        from runfold._tables.frames import hparam_frames

        stored = self._stored("hparams", None, runs)
        return hparam_frames.wide_frame(stored) if wide else hparam_frames.long_frame(stored)

    def sessions(self, *, runs: Names = None) -> Table:
        """Every session that hparams were logged for: group, status, start and end time."""
        from runfold._tables.frames import hparam_frames

        return hparam_frames.session_frame(self._stored("hparams", None, runs))

    def hparam_domains(self, *, runs: Names = None) -> Table:
        """Every hparam that an experiment announces: type, domain and description."""
        from runfold._tables.frames import hparam_frames

        return hparam_frames.experiment_frame(self._stored("hparams", None, runs))

    def metrics(self, *, runs: Names = None) -> Table:
        """Every metric that an hparams experiment names."""
        from runfold._tables.frames import hparam_frames

        return hparam_frames.metric_frame(self._stored("hparams", None, runs))

    def _frame(self, kind: str, tags: Names, runs: Names) -> Table:
        from runfold._tables.frames.kind_frames import kind_frame

        return kind_frame(kind, self._stored(kind, tags, runs))

    def _stored(self, kind: str, tags: Names, runs: Names) -> list[tuple[RunLog, Payloads]]:
        from runfold._tables.frames.decoded_values import name_of

        stored = [
            (name_of(log, payloads), log, payloads.readable())
            for log in self._logs(runs)
            for (found, _), payloads in log.payloads.items()
            if found == kind
        ]
        names = list(dict.fromkeys(name for name, _, _ in stored))
        wanted = set(select(names, tags, where=f"of kind {kind}"))
        return [(log, payloads) for name, log, payloads in stored if name in wanted]
