"""Ray Tune's TBX logger: numbers, histograms, videos and images by type, then the hparams."""

import numpy as np
from tensorboardX import SummaryWriter
from tensorboardX.summary import hparams

config = {"lr": 0.1, "layers": 2, "name": "small", "is_wide": True}
writer = SummaryWriter("logs/trial", flush_secs=30)
result = {}
for step in range(6):
    random = np.random.default_rng(step)
    result = {"ray/tune/loss": random.random(), "ray/tune/iteration": step}
    for tag, value in result.items():
        writer.add_scalar(tag, value, global_step=step)
    writer.add_histogram("ray/tune/returns", random.random(20), global_step=step)
    writer.add_image("ray/tune/frame", random.random((3, 8, 8)), global_step=step)
    writer.flush()
experiment_tag, session_start_tag, session_end_tag = hparams(hparam_dict=config, metric_dict=result)
writer.file_writer.add_summary(experiment_tag)
writer.file_writer.add_summary(session_start_tag)
writer.file_writer.add_summary(session_end_tag)
writer.close()
