"""Stable-Baselines3's logger with Runfold's writer."""

import numpy as np
from differences import steps_only
from trials import list_trials

RUN = "logs/A2C_1"
TIMES = ("time/fps", "time/time_elapsed")


def test_learn_logs_the_same(train):
    pair = train("sb3_plain")
    assert steps_only(pair.swapped.logs, *TIMES) == steps_only(pair.original.logs, *TIMES)
    assert ("scalar", "train/value_loss") in pair.swapped.logs["logs/a2c_1"]


def test_media_are_the_same_and_videos_are_kept(train):
    pair = train("sb3_media")
    # torch's writer cannot use moviepy 2 and logs no video; Runfold does not need moviepy.
    assert ("image", "video") not in pair.original.logs[RUN]
    videos = pair.swapped.logs[RUN].pop(("image", "video"))
    assert steps_only(pair.swapped.logs, *TIMES) == steps_only(pair.original.logs, *TIMES)
    assert {kind for kind, _ in pair.swapped.logs[RUN]} >= {"image", "histogram", "tensor"}
    assert [step for step, _ in videos] == [32, 64, 96, 128, 160]
    for step, frames in videos:
        ((*expected,),) = np.load(pair.swapped.folder / f"video-{step}.npy").transpose(0, 1, 3, 4, 2)
        assert [pixels for _, _, pixels in frames] == [add_alpha(frame) for frame in expected]


def add_alpha(frame):
    return np.dstack([frame, np.full(frame.shape[:2], 255, np.uint8)]).tobytes()


def test_hparam_callback_logs_the_same(train):
    pair = train("sb3_hparam")
    assert steps_only(pair.swapped.logs, *TIMES) == steps_only(pair.original.logs, *TIMES)
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    ((hparams, metrics, _),) = trials
    assert hparams["learning rate"] == 0.0007
    assert sorted(metrics) == ["rollout/ep_len_mean", "train/value_loss"]
