"""Stable-Baselines3's logger with Runfold's writer."""

import numpy as np
from differences import steps_only
from readings import list_differences
from trials import list_trials

RUN = "logs/A2C_1"
TIMES = ("time/fps", "time/time_elapsed")


def test_learn_logs_the_same_with_both_writers(train):
    pair = train("sb3_plain")
    expected = steps_only(pair.original.logs, *TIMES)
    assert list_differences(steps_only(pair.swapped.logs, *TIMES), expected) == []
    assert ("scalar", "train/value_loss") in pair.swapped.logs["logs/a2c_1"]


def test_media_are_the_same_with_both_writers_and_videos_are_kept(train):
    pair = train("sb3_media")
    # torch's writer cannot use moviepy 2 and logs no video; Runfold does not need moviepy.
    assert ("image", "video") not in pair.original.logs[RUN]
    videos = pair.swapped.logs[RUN].pop(("image", "video"))
    expected = steps_only(pair.original.logs, *TIMES)
    assert list_differences(steps_only(pair.swapped.logs, *TIMES), expected) == []
    assert {kind for kind, _ in pair.swapped.logs[RUN]} >= {"image", "histogram", "tensor"}
    assert [step for step, _ in videos] == [32, 64, 96, 128, 160]
    for step, frames in videos:
        (logged,) = np.load(pair.swapped.folder / f"video-{step}.npy")
        assert [pixels for _, _, pixels in frames] == [as_rgba(frame) for frame in logged]


def test_hparam_callback_logs_the_same_with_both_writers(train):
    pair = train("sb3_hparam")
    expected = steps_only(pair.original.logs, *TIMES)
    assert list_differences(steps_only(pair.swapped.logs, *TIMES), expected) == []
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    ((hparams, metrics, _),) = trials
    assert hparams["learning rate"] == 0.0007
    assert sorted(metrics) == ["rollout/ep_len_mean", "train/value_loss"]


def as_rgba(frame):
    return np.dstack([*frame, np.full((8, 8), 255, np.uint8)]).tobytes()
