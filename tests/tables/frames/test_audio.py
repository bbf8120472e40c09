"""Audio clips as a table: their properties, and samples read on use."""

import numpy as np
from helpers.logs import values, write
from helpers.writers import RATE, SAMPLES, wav

import runfold as rf
from runfold._events.value_encoding import audio, audio_tensor


def test_old_and_new_form_give_the_same_columns(tmp_path):
    clip = wav(SAMPLES)
    write(tmp_path / "old", values(audio("sound", RATE, 1, len(SAMPLES), clip)))
    write(tmp_path / "new", values(audio_tensor("sound", [clip, clip], ["first", "second"])))
    table = rf.open(tmp_path).audio()
    assert table["run"].tolist() == ["new", "new", "old"]
    assert table["index"].tolist() == [0, 1, 0]
    assert table["label"].tolist() == ["first", "second", ""]
    assert set(table["content_type"]) == {"audio/wav"}
    assert table["sample_rate"].tolist() == [RATE] * 3
    assert table["length_frames"].tolist() == [len(SAMPLES)] * 3
    for clip in table["audio"]:
        rate, samples = clip.wave()
        assert rate == RATE
        np.testing.assert_array_equal(samples[:, 0], SAMPLES)


def test_unknown_properties_are_missing(tmp_path):
    write(tmp_path, values(audio_tensor("sound", [b"OggS and more", wav(SAMPLES)])))
    table = rf.open(tmp_path).audio()
    assert table["sample_rate"].dtype == np.float64
    assert table["channels"].dtype == "Int64"
    assert table["length_frames"].dtype == "Int64"
    assert table.loc[0, ["sample_rate", "channels", "length_frames"]].isna().all()
    assert table.loc[1, ["sample_rate", "channels", "length_frames"]].tolist() == [RATE, 1, 5]


def test_log_without_audio_has_an_empty_table_with_all_columns(tmp_path):
    write(tmp_path)
    table = rf.open(tmp_path).audio()
    assert table.empty
    assert {"sample_rate", "channels", "length_frames", "audio"} <= set(table.columns)
