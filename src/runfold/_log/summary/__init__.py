"""SummaryWriter and its methods.

A `SummaryWriter` (`summary_writer`) has an `EventWriter`, and exposes the attributes of torch's
and tensorboardX's writers. Its methods are functions in `add_scalars`, `add_arrays`, `add_media`
and `add_models`, with the writer as `self`. They log through the event writer, and call public
methods such as `add_value` if a subclass may override them.

Its parts, called as described in `_log.writer`, are `Charts` (`custom_charts`), which writes the
layout of the custom scalars page; `HparamsLog` (`hparams_log`), which ends the hparams session of
the run; and `FirstEvents` (`hparams_log`), which writes the options of the constructor.

The other modules encode values: `histogram_buckets`, `precision_recall`, `pixels`, `video`,
`wav`, `annotated_images` with `box_drawing`, `figure_pixels`, `model_graph`, `mesh_values`,
`embedding_files`, and `hparams_session` with `hparams_trials`.
"""
