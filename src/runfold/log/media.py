"""Pictures, figures, films, sound and text.

What encodes them is imported when it is first used: a program that logs numbers is not
to wait for it.
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

    Each raises CannotLog, which names the tag and the argument, for what cannot
    be logged; nothing is logged then, and nothing logged before is lost.
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
        """Log a picture of 1, 3 or 4 channels.

        Bytes reach from 0 to 255, all other numbers from 0 to 1; what lies beyond
        is clipped. `dataformats` names the axes in their order, such as "HWC" or "HW".
        """
        from runfold.log.pictures import as_picture, encode_picture

        if self._is_heard():
            pixels = as_picture(img_tensor, as_tag(tag), dataformats=dataformats)
            self.add_value(tag, encode_picture(tag, pixels), global_step, walltime)

    @guarded
    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of pictures as one grid, eight in a row."""
        from runfold.log.pictures import as_picture, encode_picture

        if self._is_heard():
            pixels = as_picture(img_tensor, as_tag(tag), dataformats=dataformats)
            self.add_value(tag, encode_picture(tag, pixels), global_step, walltime)

    @guarded
    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[Any] | None = None,
        *,
        scores: Any = None,
        colors: str | Sequence[Any] | Mapping[str, Any] | None = None,
        masks: Any = None,
    ) -> None:
        """Log a picture with boxes, drawn for TensorBoard and kept as data.

        `Runs.boxes()` gives the boxes back, and the picture without them.

        Args:
            tag: where TensorBoard shows the drawn picture.
            img_tensor: the picture, as for `add_image`.
            box_tensor: a row x1, y1, x2, y2 for each box, in pixels.
            global_step: the step.
            walltime: the time, in seconds; now by default.
            rescale: the stored picture is so many times larger; boxes keep their numbers.
            dataformats: the axes of the picture.
            labels: one for each box, of any type; written beside it, and the colour's cause.
            scores: one for each box, written behind its label.
            colors: one for each box, one for all, or one for each label in a mapping:
                names, "#rrggbb" or three numbers. By default each label has its own.
            masks: (boxes, height, width), of bools, or numbers that are true above 0.5.
        """
        from runfold.log.boxes import encode_boxes
        from runfold.log.pictures import as_picture

        if self._is_heard():
            pixels = as_picture(img_tensor, as_tag(tag), dataformats=dataformats)
            both = encode_boxes(tag, pixels, box_tensor, rescale, labels, scores, colors, masks)
            # In one event, so that neither is ever there without the other.
            self.put("summary", both, self._step(global_step, tag), self._time(walltime, tag))

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

        With `close`, pyplot forgets a figure that it made.
        """
        from runfold.log.figures import draw_figures
        from runfold.log.pictures import as_picture, encode_picture

        if self._is_heard():
            drawn = draw_figures(figure, as_tag(tag), close)
            pixels = as_picture(drawn, tag, "figure", "NHWC" if drawn.ndim == 4 else "HWC")
            self.add_value(tag, encode_picture(tag, pixels), global_step, walltime)

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
            message = encode_film(as_tag(tag), vid_tensor, fps, dataformats)
            self.add_value(tag, message, global_step, walltime)

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
            message = encode_sound(as_tag(tag), snd_tensor, sample_rate)
            self.add_value(tag, message, global_step, walltime)

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
            if not isinstance(text_string, str):
                fact = "a text is a str; log str() of it"
                raise CannotLog(refuse(as_tag(tag), "text_string", text_string, fact))
            # Names of files need not have UTF-8.
            text = utf8(text_string)
            message = values.text(f"{as_tag(tag)}/text_summary", [text])
            self.add_value(tag, message, global_step, walltime)
