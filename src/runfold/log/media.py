"""Pictures, figures, films, sound and text.

The encoders are imported when they are first used, so that a program that logs only
numbers does not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold.errors import CannotLog
from runfold.events import values
from runfold.log.arrays import as_tag, refuse
from runfold.log.guard import guarded
from runfold.log.writer import EventWriter
from runfold.text import utf8

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Media(EventWriter):
    """The methods of SummaryWriter for these.

    Each raises CannotLog, which names the tag and the argument, for a value that
    cannot be logged. The call then logs nothing; what was logged before is kept.
    """

    @guarded
    def add_image(
        self,
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
        from runfold.log.pictures import as_picture, encode_picture

        if self._is_heard():
            name = self._tag(tag)
            pixels = as_picture(img_tensor, name, dataformats=dataformats)
            self.add_value(name, encode_picture(name, pixels), global_step, walltime)

    @guarded
    def add_images(
        self,
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
        from runfold.log.pictures import as_picture, encode_picture

        if self._is_heard():
            name = self._tag(tag)
            pixels = as_picture(img_tensor, name, dataformats=dataformats)
            self.add_value(name, encode_picture(name, pixels), global_step, walltime)

    @guarded
    def add_image_with_boxes(
        self,
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
        from runfold.log.boxes import encode_boxes
        from runfold.log.pictures import as_picture

        if isinstance(rescale, str):
            # tensorboardX has `dataformats` and `labels` in these two places.
            labels = labels if dataformats == "CHW" else dataformats
            rescale, dataformats = 1, rescale
        if self._is_heard():
            name = as_tag(tag)
            pixels = as_picture(img_tensor, name, dataformats=dataformats)
            both = encode_boxes(name, pixels, box_tensor, rescale, labels, scores, colors, masks)
            # In one event, so that neither exists without the other.
            self._put("summary", both, self._step(global_step, name), self._time(walltime, name))

    @guarded
    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of matplotlib as a picture, or a list of equal size as one grid.

        With `close`, figures that pyplot made are closed.
        """
        from runfold.log.figures import draw_figures
        from runfold.log.pictures import as_picture, encode_picture

        if self._is_heard():
            name = self._tag(tag)
            drawn = draw_figures(figure, name, close)
            pixels = as_picture(drawn, name, "figure", "NHWC" if drawn.ndim == 4 else "HWC")
            self.add_value(name, encode_picture(name, pixels), global_step, walltime)

    @guarded
    def add_video(
        self,
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
        from runfold.log.film import encode_film

        if self._is_heard():
            name = self._tag(tag)
            message = encode_film(name, vid_tensor, fps, dataformats)
            self.add_value(name, message, global_step, walltime)

    @guarded
    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: float = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log a mono or stereo clip of floats from -1 to 1, or of int16.

        The shape is (frames,), (frames, 2) or (2, frames); axes of length 1 do not count.
        """
        from runfold.log.sound import encode_sound

        if self._is_heard():
            name = as_tag(tag)
            message = encode_sound(name, snd_tensor, sample_rate)
            self.add_value(name, message, global_step, walltime)

    @guarded
    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a text, which TensorBoard shows as Markdown, under the tag `<tag>/text_summary`."""
        if self._is_heard():
            name = as_tag(tag)
            if not isinstance(text_string, str):
                fact = "expected a str; log str() of it"
                raise CannotLog(refuse(name, "text_string", text_string, fact))
            # Texts may hold names of files, which need not be valid UTF-8.
            message = values.text(f"{name}/text_summary", [utf8(text_string)])
            self.add_value(name, message, global_step, walltime)
