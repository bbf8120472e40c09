"""Hugging Face datasets decodes the images and clips of a saved table."""

import numpy as np
import pytest
from helpers.hugging_face import datasets, load
from helpers.writers import PIXELS
from helpers.writers import torch as write_all_kinds

import runfold as rf


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "seed-1")
    return rf.open(folder)


@pytest.mark.parametrize("method", ["to_parquet", "export"])
def test_pictures_decode_to_the_same_pixels(runs, tmp_path, method):
    table = runs.images()
    if method == "to_parquet":
        table.to_parquet(tmp_path / "images.parquet")
    else:
        runs.export(tmp_path / "images.parquet", "image")
    found = load(tmp_path / "images.parquet", tmp_path / "cache")
    assert isinstance(found.features["image"], datasets.Image)
    assert found["step"][:] == table["step"].tolist()
    for picture in found["image"]:
        np.testing.assert_array_equal(np.asarray(picture), PIXELS)


def test_clips_are_audio_with_their_bytes(runs, tmp_path):
    table = runs.audio()
    table.to_parquet(tmp_path / "audio.parquet")
    found = load(tmp_path / "audio.parquet", tmp_path / "cache")
    assert isinstance(found.features["audio"], datasets.Audio)
    clips = found.cast_column("audio", datasets.Audio(decode=False))["audio"]
    assert [clip["bytes"] for clip in clips] == [clip.data for clip in table["audio"]]
