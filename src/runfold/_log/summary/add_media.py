"""Pictures, figures, films, sound and text.

Each function is a method of SummaryWriter. It raises CannotLog, which names the tag and
the argument, for a value that cannot be logged. The call then logs nothing; what was logged
before is kept.

The encoders are imported when they are first used, so that a program that logs only
numbers does not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    """Log a picture of 1 (grey), 2 (grey and opacity), 3 or 4 channels.

    Bytes range from 0 to 255, all other numbers from 0 to 1; values beyond are
    clipped. `dataformats` names the axes in their order, such as "HWC" or "HW".
    """
    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        _add_picture(self, name, img_tensor, global_step, walltime, dataformats)


@guarded
def add_images(
    self: Writer,
    tag: str,
    img_tensor: Any,
    global_step: Any = None,
    walltime: float | None = None,
    dataformats: str = "NCHW",
) -> None:
    """Log a batch of pictures as one grid, eight in a row.

    `dataformats` names the axes of an array. For a list of pictures, it may name the
    axes of one picture: "CHW" or "HWC".
    """
    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        _add_picture(self, name, img_tensor, global_step, walltime, dataformats)


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
    """Log a picture with boxes, drawn for TensorBoard and kept as data.

    `Runs.boxes()` returns the boxes, and the picture without them.

    The last three positional arguments may also come in tensorboardX's order:
    `dataformats`, then `labels`.

    Args:
        tag: where TensorBoard shows the drawn picture.
        img_tensor: the picture, as for `add_image`.
        box_tensor: one row x1, y1, x2, y2 per box, in pixels. More columns are ignored.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.
        rescale: enlarge the stored picture by this factor; boxes keep their numbers.
        dataformats: the axes of the picture.
        labels: one per box, of any type. It is written next to the box and decides
            its colour.
        scores: one per box, written after its label.
        colors: one per box, one for all, or a mapping with one per label: names,
            "#rrggbb" or three numbers. Default: one colour per label.
        masks: (boxes, height, width), of bools, or of numbers that are true above 0.5.
    """
    from runfold._log.summary.annotated_images import encode_boxes
    from runfold._log.summary.pixels import as_picture

    if isinstance(rescale, str):
        # tensorboardX has `dataformats` and `labels` in these two places.
        labels = labels if dataformats == "CHW" else dataformats
        rescale, dataformats = 1, rescale
    sink = self._event_writer
    if sink.accepts():
        name = as_tag(tag)
        pixels = as_picture(img_tensor, name, dataformats=dataformats)
        both = encode_boxes(name, pixels, box_tensor, rescale, labels, scores, colors, masks)
        # In one event, so that neither exists without the other.
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
    """Log a figure of matplotlib as a picture, or a list of equal size as one grid.

    With `close`, figures that pyplot made are closed.
    """
    from runfold._log.summary.figure_pixels import draw_figures

    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        drawn = draw_figures(figure, name, close)
        axes = "NHWC" if drawn.ndim == 4 else "HWC"
        _add_picture(self, name, drawn, global_step, walltime, axes, "figure")


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
    """Log films, all of a batch side by side, as an animated GIF.

    Numbers are taken as by `add_image`; frames of more than 256 colours lose some.
    """
    from runfold._log.summary.video import encode_film

    if self._event_writer.accepts():
        name = self._event_writer.checks.tag(tag)
        message = encode_film(name, vid_tensor, fps, dataformats)
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
    """Log a mono or stereo clip of floats from -1 to 1, or of int16.

    The shape is (frames,), (frames, 2) or (2, frames); axes of length 1 do not count.
    """
    from runfold._log.summary.wav import encode_sound

    if self._event_writer.accepts():
        name = as_tag(tag)
        message = encode_sound(name, snd_tensor, sample_rate)
        self.add_value(name, message, global_step, walltime)


@guarded
def add_text(
    self: Writer,
    tag: str,
    text_string: str,
    global_step: Any = None,
    walltime: float | None = None,
) -> None:
    """Log a text, which TensorBoard shows as Markdown, under the tag `<tag>/text_summary`."""
    if self._event_writer.accepts():
        name = as_tag(tag)
        if not isinstance(text_string, str):
            fact = "expected a str; log str() of it"
            raise CannotLog(refuse(name, "text_string", text_string, fact))
        # Texts may hold names of files, which need not be valid UTF-8.
        message = value_encoding.text(f"{name}/text_summary", [utf8(text_string)])
        self.add_value(name, message, global_step, walltime)


def _add_picture(
    self: Writer,
    tag: str,
    picture: Any,
    step: Any,
    walltime: float | None,
    axes: str,
    argument: str = "img_tensor",
) -> None:
    from runfold._log.summary.pixels import as_picture, encode_picture

    pixels = as_picture(picture, tag, argument, axes)
    self.add_value(tag, encode_picture(tag, pixels), step, walltime)
