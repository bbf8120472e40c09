"""The methods of `Run` and `Runs` that return tables, one per kind of data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from runfold._conventions import TEXT_SUFFIX
from runfold._select import Names, match_glob, select

if TYPE_CHECKING:
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table


class Frames:
    """Methods that return one table per kind of data.

    Each table is a pandas DataFrame (of the subclass `Table`) with one row per value.
    Unless a method says otherwise, its columns are `run` and `tag` (categorical), `step`,
    `wall_time` (seconds since 1970) and those listed in its first line. The arguments
    `tags` and `runs` accept a name, a glob or a list of them.
    """

    def _logs(self, runs: Names) -> list[RunLog]:
        """Load and return the selected logs."""
        raise AssertionError("not implemented by this subclass")

    @property
    def _cache(self) -> PointCache | None:
        """The memory for points; None without a limit."""
        raise AssertionError("not implemented by this subclass")

    def scalars(self, tags: Names = None, *, runs: Names = None, wide: bool = False) -> Table:
        """Return all scalar points: run, tag, step, wall_time, value.

        Args:
            tags: names and globs. Default: all.
            runs: names and globs. Default: all.
            wide: return one column per tag, indexed by run and step.

        Raises:
            UnknownTag: no run has this tag; the message lists similar tags.

        Examples:
            >>> runs.scalars("val/*")
                  run       tag  step     wall_time  value
            0  seed-1  val/loss     0  1.795011e+09   0.99
            1  seed-1  val/loss    10  1.795011e+09   0.95
            >>> runs.scalars("val/*", wide=True)
            tag          val/acc  val/loss
            run    step
            seed-1 0        0.10      0.99
                   10       0.31      0.95
        """
        from runfold._logdir.run_batches import read_series
        from runfold._tables.frames import scalar_frame

        logs = self._logs(runs)
        names = list(dict.fromkeys(tag for log in logs for tag in log.scalars))
        selected = set(select(names, tags, where="of kind scalar"))
        # `items()` is not used: a packed log decodes each series on access.
        series = read_series(logs, selected.__contains__)
        return scalar_frame.wide_frame(series) if wide else scalar_frame.long_frame(series)

    def histograms(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all histograms: left, right, counts, min, max, num, sum, sum_squares.

        `left`, `right` and `counts` are arrays with one element per bucket.

        Examples:
            >>> row = runs.histograms("weights").iloc[-1]
            >>> plt.stairs(row["counts"], [*row["left"], row["right"][-1]])
        """
        return self._frame("histogram", tags, runs)

    def images(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all images: index, width, height, image.

        `index` counts the images that were logged together. `image.pil()`,
        `image.numpy()` and `image.data` (the encoded bytes) read the image from its file.

        Examples:
            >>> runs.images("samples")["image"].iloc[-1].pil().save("last.png")
        """
        return self._frame("image", tags, runs)

    def boxes(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all images with bounding boxes: boxes, labels, scores, colors, masks, image.

        `boxes` and `scores` are arrays. `image` is the image without the drawn boxes.
        """
        return self._frame("boxes", tags, runs)

    def audio(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all audio clips, with their sample rate, channels, length and type.

        The columns are index, sample_rate, channels, length_frames, content_type, label
        and audio. `audio.wave()` decodes a clip; `audio.data` is its encoded bytes.
        """
        return self._frame("audio", tags, runs)

    def text(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all text entries, each as a str or an array of str.

        `tags` can omit the suffix `/text_summary`, which torch's and tensorboardX's writers
        add to the tag. A tag with exactly the given name takes precedence.

        Examples:
            >>> runs.text("note")
                  run                tag  step     wall_time          text
            0  seed-1  note/text_summary     0  1.795011e+09  lower lr now
        """
        return self._frame("text", tags, runs)

    def tensors(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all tensors that are not of a more specific kind, as arrays."""
        return self._frame("tensor", tags, runs)

    def pr_curves(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all precision-recall curves: thresholds, precision, recall and counts.

        The counts are true_positives, false_positives, true_negatives and
        false_negatives. Each cell is an array with one element per threshold.
        """
        return self._frame("pr_curve", tags, runs)

    def meshes(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all meshes: vertices, faces, colors (arrays or None), config."""
        return self._frame("mesh", tags, runs)

    def graphs(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all graphs: nodes (their number), graph."""
        return self._frame("graph", tags, runs)

    def run_metadata(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all RunMetadata messages from TensorFlow's profiler."""
        return self._frame("run_metadata", tags, runs)

    def layouts(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all custom scalar layouts, each with its categories of charts."""
        return self._frame("layout", tags, runs)

    def embeddings(self, tags: Names = None, *, runs: Names = None) -> Table:
        """Return all embeddings in projector configurations; their files are read on demand."""
        from runfold._tables.frames.kind_frames import embedding_frame

        return embedding_frame(self._logs(runs), tags)

    def hparams(self, *, runs: Names = None, wide: bool = False, sources: bool = False) -> Table:
        """Return all hparams: run, hparam, value.

        The hparams include the settings found in text tags such as `args` and in files such as
        `hparams.yaml`, unless `rf.open` was called with `find_config=False`.

        Args:
            runs: names and globs. Default: all.
            wide: return one row per run and one column per hparam.
            sources: add a column `source`, such as "hparams", "text args" or
                "file hparams.yaml". Not with `wide`.

        Examples:
            >>> runs.hparams(wide=True)
            hparam    lr  seed
            run
            seed-1  0.01   1.0
            seed-2  0.01   2.0
        """
        from runfold._tables.frames import hparam_frames

        if wide and sources:
            raise ValueError("sources=True requires the long table: omit wide=True")
        logs = self._logs(runs)
        return hparam_frames.wide_frame(logs) if wide else hparam_frames.long_frame(logs, sources)

    def sessions(self, *, runs: Names = None) -> Table:
        """Return the hparams session of each run: group, status, start_time, end_time."""
        from runfold._tables.frames import hparam_frames

        return hparam_frames.session_frame(self._stored("hparams", None, runs))

    def hparam_domains(self, *, runs: Names = None) -> Table:
        """Return the hparams that experiments declare: type, domain, display_name, description."""
        from runfold._tables.frames import hparam_frames

        return hparam_frames.experiment_frame(self._stored("hparams", None, runs))

    def metrics(self, *, runs: Names = None) -> Table:
        """Return the metrics that experiments declare: tag, group, display_name, ..."""
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
            for (other_kind, _), payloads in log.payloads.items()
            if other_kind == kind
        ]
        names = list(dict.fromkeys(name for name, _, _ in stored))
        if kind == "text":
            tags = _add_suffix(names, tags)
        selected = set(select(names, tags, where=f"of kind {kind}"))
        return [(log, payloads) for name, log, payloads in stored if name in selected]


def _add_suffix(names: Sequence[str], tags: Names) -> Names:
    """Return the selected tags, with the suffix of text tags added where only that matches."""
    if tags is None or isinstance(tags, bytes) or not isinstance(tags, Iterable):
        return tags
    known = frozenset(names)

    def matches(tag: str) -> bool:
        return tag in known or bool(match_glob(names, tag))

    return [
        tag + TEXT_SUFFIX
        if isinstance(tag, str) and not matches(tag) and matches(tag + TEXT_SUFFIX)
        else tag
        for tag in ([tags] if isinstance(tags, str) else tags)
    ]
