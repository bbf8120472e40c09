"""SummaryWriter with tensorboardX's tags, argument names and argument order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._log.summary import summary_writer

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


class SummaryWriter(summary_writer.SummaryWriter):
    """A `runfold.SummaryWriter` with the arguments of `tensorboardX.SummaryWriter`.

    The tags of scalars, histograms, images and videos are cleaned: characters other
    than letters, digits and `-_./` become `_`. Options of `runfold.SummaryWriter` can
    be passed by name.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        log_dir: str | os.PathLike[str] | None = None,
        comet_config: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            log_dir if logdir is None else logdir,
            comment,
            purge_step,
            max_queue,
            flush_secs,
            filename_suffix,
            write_to_disk,
            comet_config=comet_config,
            **{"clean_tags": True, **kwargs},
        )

    def add_scalar(  # type: ignore[override]  # tensorboardX's order
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        display_name: str = "",
        summary_description: str = "",
        *,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number; see `runfold.SummaryWriter.add_scalar`."""
        super().add_scalar(
            tag,
            scalar_value,
            global_step,
            walltime,
            new_style,
            double_precision,
            display_name,
            summary_description,
        )

    def add_hparams(  # type: ignore[override]  # tensorboardX's order
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any] | None = None,
        name: str | None = None,
        global_step: Any = None,
        **options: Any,
    ) -> None:
        """Log hparams and metrics; see `runfold.SummaryWriter.add_hparams`."""
        super().add_hparams(hparam_dict, metric_dict, name=name, global_step=global_step, **options)

    def add_image_with_boxes(  # type: ignore[override]  # tensorboardX's order
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
        labels: str | Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        """Log an image with boxes; see `runfold.SummaryWriter.add_image_with_boxes`."""
        super().add_image_with_boxes(
            tag,
            img_tensor,
            box_tensor,
            global_step,
            walltime,
            dataformats=dataformats,
            labels=labels,
            **options,
        )

    def add_onnx_graph(  # type: ignore[override]  # tensorboardX's name
        self, onnx_model_file: str | os.PathLike[str]
    ) -> None:
        """Log the graph in an ONNX file."""
        super().add_onnx_graph(onnx_model_file)
