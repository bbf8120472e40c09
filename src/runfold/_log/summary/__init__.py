"""SummaryWriter, and the functions that are its methods.

A `SummaryWriter` (`summary_writer`) has an `EventWriter`, and forwards to it what torch's and
tensorboardX's writers have as attributes. Its methods are functions in `add_scalars`,
`add_arrays`, `add_media` and `add_models`, each with the writer as `self`. They log through
its event writer, and call its public methods, such as `add_value`, where a subclass may have
overridden them.

Its parts, called as `_log.writer` describes, are `Charts` (`custom_charts`), which writes the
layout of the custom scalars page; `HparamsLog` (`hparams_log`), which ends the session of the
run's hparams; and `FirstEvents` (`hparams_log`), which writes the options of the constructor.

The other modules make values: `histogram_buckets`, `precision_recall`, `pixels`, `video`,
`wav`, `annotated_images` with `box_drawing`, `figure_pixels`, `model_graph`, `mesh_values`,
`embedding_files`, and `hparams_session` with `hparams_trials`.
"""
