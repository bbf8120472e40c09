"""SummaryWriter methods for images, figures, videos, audio and text.

The methods raise CannotLog for a value that cannot be logged. The message names the tag and the
argument. Data logged earlier is kept.

Encoders are imported on first use, so that programs that only log numbers start quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._conventions import TEXT_SUFFIX
from runfold._events import value_encoding
from runfold._humanize import utf8
from runfold._log.writer.convert import as_tag, refuse
from runfold._log.writer.guard import guarded
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runfold._log.writer.sink import Writer


@guarded
def add_image(
    self: Writer,
    tag: str,
    img_tensor: Any,
    global_step: Any = None,
    walltime: float | None = None,
    dataformats: str = "CHW",
) -> None:
    """Log an image with 1 (gray), 2 (gray and alpha), 3 (RGB) or 4 (RGBA) channels.

    uint8 values range from 0 to 255, all others from 0 to 1. Values outside the range are
    clipped.

    Args:
        tag: name of the series.
        img_tensor: the image, an array or tensor.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.
        dataformats: the order of the axes, such as "CHW", "HWC" or "HW".

    Examples:
        >>> writer.add_image("input", torch.rand(3, 64, 64), step)
        >>> photo = np.asarray(PIL.Image.open("cat.png"))
        >>> writer.add_image("photo", photo, step, dataformats="HWC")
    """
    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        _add_image(self, name, img_tensor, global_step, walltime, dataformats)


@guarded
def add_images(
    self: Writer,
    tag: str,
    img_tensor: Any,
    global_step: Any = None,
    walltime: float | None = None,
    dataformats: str = "NCHW",
) -> None:
    """Log a batch of images as one grid, with eight images per row.

    Args:
        tag: name of the series.
        img_tensor: the images: one array, or a list of arrays.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.
        dataformats: the order of the axes, such as "NCHW" or "NHWC". For a list, it can also be the
            order of a single image: "CHW" or "HWC".
    """
    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        _add_image(self, name, img_tensor, global_step, walltime, dataformats)


@guarded
def add_image_with_boxes(
    self: Writer,
    tag: str,
    img_tensor: Any,
    box_tensor: Any,
    global_step: Any = None,
    walltime: float | None = None,
    rescale: float | str = 1,
    dataformats: Any = "CHW",
    labels: str | Sequence[Any] | None = None,
    *,
    scores: Any = None,
    colors: str | Sequence[Any] | Mapping[str, Any] | None = None,
    masks: Any = None,
) -> None:
    """Log an image with bounding boxes, drawn on the image and stored as data.

    TensorBoard shows the drawn image. `Runs.boxes()` returns the boxes, and the image without
    them.

    The positional arguments after `walltime` can also be in tensorboardX's order: `dataformats`,
    then `labels`.

    Args:
        tag: name of the series.
        img_tensor: the image, as for `add_image`.
        box_tensor: one row x1, y1, x2, y2 per box, in pixels. Further columns are ignored.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.
        rescale: factor by which to enlarge the stored image. Boxes keep their coordinates.
        dataformats: the order of the image's axes.
        labels: one label of any type per box. The label is written next to the box and
            selects its color.
        scores: one number per box, written after the label.
        colors: one color per box, one for all boxes, or a mapping from labels to colors. A color
            is a name, "#rrggbb" or three numbers. Default: one color per label.
        masks: one mask per box, shape (boxes, height, width): bools, or numbers, where a value
            above 0.5 means True.

    Examples:
        >>> writer.add_image_with_boxes(
        ...     "val/detections", image, [[10, 20, 110, 80]], step, labels=["cat"], scores=[0.93]
        ... )
    """
    from runfold._log.summary.annotated_images import encode_boxes
    from runfold._log.summary.pixels import as_image

    if isinstance(rescale, str):
        # tensorboardX passes `dataformats` and `labels` in these positions.
        labels = labels if dataformats == "CHW" else dataformats
        rescale, dataformats = 1, rescale
    sink = self._event_writer
    if sink.accepts():
        name = as_tag(tag)
        pixels = as_image(img_tensor, name, dataformats=dataformats)
        both = encode_boxes(name, pixels, box_tensor, rescale, labels, scores, colors, masks)
        # Write both in one event, so that neither exists without the other.
        sink.put(
            "summary", both, sink.checks.step(global_step, name), sink.checks.time(walltime, name)
        )


@guarded
def add_figure(
    self: Writer,
    tag: str,
    figure: Any,
    global_step: Any = None,
    close: bool = True,
    walltime: float | None = None,
) -> None:
    """Log a Matplotlib figure as an image, or a list of figures of equal size as one grid.

    Args:
        tag: name of the series.
        figure: a `matplotlib.figure.Figure`, or a list of them.
        global_step: the step. Default: 0.
        close: close figures that pyplot created. Default: True.
        walltime: seconds since 1970. Default: now.
    """
    from runfold._log.summary.figure_pixels import draw_figures

    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        drawn = draw_figures(figure, name, close)
        axes = "NHWC" if drawn.ndim == 4 else "HWC"
        _add_image(self, name, drawn, global_step, walltime, axes, "figure")


@guarded
def add_video(
    self: Writer,
    tag: str,
    vid_tensor: Any,
    global_step: Any = None,
    fps: float = 4,
    walltime: float | None = None,
    dataformats: str = "NTCHW",
) -> None:
    """Log videos as an animated GIF, with all videos of a batch in one grid.

    Values have the same range as in `add_image`. Frames with more than 256 colors are reduced to
    256.

    Args:
        tag: name of the series.
        vid_tensor: the videos, an array or tensor.
        global_step: the step. Default: 0.
        fps: frames per second. Default: 4.
        walltime: seconds since 1970. Default: now.
        dataformats: the order of the axes: batch (N), time (T), channels (C), height (H), width
            (W).

    Examples:
        >>> writer.add_video("rollout", torch.rand(1, 30, 3, 64, 64), step, fps=15)
    """
    from runfold._log.summary.video import encode_video

    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        message = encode_video(name, vid_tensor, fps, dataformats)
        self.add_value(name, message, global_step, walltime)


@guarded
def add_audio(
    self: Writer,
    tag: str,
    snd_tensor: Any,
    global_step: Any = None,
    sample_rate: float = 44100,
    walltime: float | None = None,
) -> None:
    """Log a mono or stereo audio clip.

    Args:
        tag: name of the series.
        snd_tensor: floats from -1 to 1, or int16, of shape (frames,), (frames, 2) or (2, frames).
            Further axes must have length 1.
        global_step: the step. Default: 0.
        sample_rate: samples per second. Default: 44100.
        walltime: seconds since 1970. Default: now.
    """
    from runfold._log.summary.wav import encode_audio

    if self._event_writer.accepts():
        name = as_tag(tag)
        message = encode_audio(name, snd_tensor, sample_rate)
        self.add_value(name, message, global_step, walltime)


@guarded
def add_text(
    self: Writer,
    tag: str,
    text_string: str,
    global_step: Any = None,
    walltime: float | None = None,
) -> None:
    """Log text, which TensorBoard renders as Markdown.

    Args:
        tag: name of the series, stored as `<tag>/text_summary`, as in torch.
        text_string: the text.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.
    """
    if self._event_writer.accepts():
        name = as_tag(tag)
        if not isinstance(text_string, str):
            fact = "expected a str; convert it with str()"
            raise CannotLog(refuse(name, "text_string", text_string, fact))
        # Text may contain file names, which need not be valid UTF-8.
        message = value_encoding.text(name + TEXT_SUFFIX, [utf8(text_string)])
        self.add_value(name, message, global_step, walltime)


def _add_image(
    self: Writer,
    tag: str,
    image: Any,
    step: Any,
    walltime: float | None,
    axes: str,
    argument: str = "img_tensor",
) -> None:
    from runfold._log.summary.pixels import as_image, encode_image

    pixels = as_image(image, tag, argument, axes)
    self.add_value(tag, encode_image(tag, pixels), step, walltime)
