"""tensorboardX's tests of its writer pass with Runfold's writer.

`make test` downloads the tests to build/peers. They also run with tensorboardX's writer: a test
that passes with that writer must pass with Runfold's, unless it is listed here with a reason. If
the reason is that the test inspects tensorboardX's internals, a test below checks the behavior
from outside.
"""

import subprocess
import sys
from collections import Counter

import s3fs
from helpers import peer_suites
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

SUITE = peer_suites.PEERS / "tensorboardx-2.6.5/tests"

# These tests sleep for half a minute, so each file runs in its own process.
SLOW = ("tests/test_writer.py", "tests/test_multiprocess_write.py")
REST = ("tests", *(f"--ignore={name}" for name in SLOW))

MODULES = ("tensorboardX", "tensorboardX.writer", "tensorboardX.global_writer")

# moto 5 renamed the decorator. The decorator replaces boto3's connections, which Runfold does not
# use; Runfold's writer connects to moto's server instead.
CONFTEST = """
import os

import moto

moto.mock_s3 = (lambda test: test) if "AWS_ENDPOINT_URL" in os.environ else moto.mock_aws
"""

FLUSH_TIMER = (
    "It asserts that values are not in the file yet. Runfold writes every two seconds, "
    "even if flush_secs is longer."
)

PASSING = {
    "EmbeddingTest::test_embedding",
    "EmbeddingTest::test_embedding_64",
    "EmbeddingTest::test_embedding_s3_mock",
    "EmbeddingTest::test_embedding_square",
    "FigureTest::test_figure",
    "FigureTest::test_figure_list",
    "GlobalWriterTest::test_flush",
    "GlobalWriterTest::test_flush_after_close",
    "HparamsTest::test_smoke",
    "ONNXGraphTest::test_onnx_graph",
    "PRCurveTest::test_smoke",
    "PyTorchNumpyTest::test_pytorch_histogram",
    "PyTorchNumpyTest::test_pytorch_histogram_raw",
    "PyTorchNumpyTest::test_pytorch_write",
    "PytorchGraphTest::test_pytorch_graph",
    "PytorchGraphTest::test_wrong_input_size",
    "SummaryWriterTest::test_dummy_summary_writer",
    "SummaryWriterTest::test_pathlib",
    "SummaryWriterTest::test_summary_writer_backcompat",
    "SummaryWriterTest::test_summary_writer_close",
    "SummaryWriterTest::test_summary_writer_ctx",
    "SummaryWriterTest::test_windowsPath",
    "WriterTest::test_flush",
    "WriterTest::test_flush_after_close",
    "WriterTest::test_reuse_writer_after_closed",
    "WriterTest::test_write_to_disk_false",
    # tensorboardX needs soundfile for this test.
    "WriterTest::test_writer",
}

EXCLUDED = {
    "EmbeddingTest::test_embedding_fail": (
        "It asserts that images that are not square are rejected. Runfold logs them."
    ),
    "GlobalWriterTest::test_flush_timer_is_long_so_data_is_not_there": FLUSH_TIMER,
    "GlobalWriterTest::test_writer": (
        "It reads the values of four forked processes from one file. With Runfold each process "
        "writes its own file in the same run; see the last test here."
    ),
    "OPENVINOGraphTest::test_openvino_graph": (
        peer_suites.ORIGINAL_FAILS + "the graph that it reads is not published with the tests."
    ),
    "WriterTest::test_flush_timer_is_long_so_data_is_not_there": FLUSH_TIMER,
    "WriterTest::test_writer_with_default_metadata": (
        "It replaces a method of tensorboardX's EventFileWriter and checks its arguments. "
        "test_add_scalars.py compares the events of both writers instead."
    ),
    "test_linting": peer_suites.MAKES_NO_WRITER,
    **dict.fromkeys(
        [
            "CRC32CTest::test_crc32c",
            "CRC32CTest::test_crc32c_native",
            "CRC32CTest::test_crc32c_python",
            "EventFileWriterTest::test_async_writer_without_write",
            "EventFileWriterTest::test_event_file_writer_roundtrip",
            "EventFileWriterTest::test_setting_filename_suffix_works",
            "GlobalWriterTest::test_auto_close",
            "NumpyTest::test_make_grid",
            "NumpyTest::test_numpy_vid",
            "NumpyTest::test_numpy_vid_uint8",
            "NumpyTest::test_scalar",
            "PRCurveTest::test_pr_purve",
            "PRCurveTest::test_pr_purve_raw",
            "PyTorchNumpyTest::test_pytorch_np",
            "RecordWriterTest::test_empty_record",
            "RecordWriterTest::test_expect_bytes_written",
            "RecordWriterTest::test_make_valid_tf_name",
            "RecordWriterTest::test_record_writer_gcs",
            "RecordWriterTest::test_record_writer_roundtrip",
            "RecordWriterTest::test_record_writer_s3",
            "SummaryTest::test_0d_input",
            "SummaryTest::test_1d_input",
            "SummaryTest::test_audio",
            "SummaryTest::test_custom_scalars",
            "SummaryTest::test_empty_input",
            "SummaryTest::test_float32_image",
            "SummaryTest::test_float_1_converts_to_uint8_255",
            "SummaryTest::test_histogram_auto",
            "SummaryTest::test_histogram_doane",
            "SummaryTest::test_histogram_fd",
            "SummaryTest::test_hparams",
            "SummaryTest::test_hparams_bool",
            "SummaryTest::test_hparams_smoke",
            "SummaryTest::test_hparams_string",
            "SummaryTest::test_image_with_3_channel_batched",
            "SummaryTest::test_image_with_boxes",
            "SummaryTest::test_image_with_four_channel",
            "SummaryTest::test_image_with_four_channel_batched",
            "SummaryTest::test_image_with_one_channel",
            "SummaryTest::test_image_with_one_channel_batched",
            "SummaryTest::test_image_without_channel",
            "SummaryTest::test_list_input",
            "SummaryTest::test_mesh",
            "SummaryTest::test_text",
            "SummaryTest::test_uint8_image",
            "SummaryTest::test_video",
            "UtilsTest::test_prepare_video",
            "UtilsTest::test_to_HWC",
            "WriterTest::test_auto_close",
        ],
        peer_suites.MAKES_NO_WRITER,
    ),
}

PROCESSES = """
import multiprocessing
import sys

import tensorboardX.global_writer
from runfold import SummaryWriter

tensorboardX.global_writer.SummaryWriter = SummaryWriter
multiprocessing.set_start_method("fork")


def log():
    for value in range(100):
        writer.add_scalar("loss", value)


writer = tensorboardX.GlobalSummaryWriter(sys.argv[1])
processes = [multiprocessing.Process(target=log) for _ in range(4)]
for process in processes:
    process.start()
for process in processes:
    process.join()
writer.close()
"""


def test_tensorboardxs_writer_tests_pass(tmp_path, s3_server):
    peer_suites.require(SUITE, "`make test` fetches tensorboardX's tests")
    endpoint = f"http://localhost:{s3_server.port}"
    suite = peer_suites.Suite(
        folder=SUITE,
        modules=MODULES,
        parts=(REST, *((name,) for name in SLOW)),
        # A value that cannot be logged fails the test, as with tensorboardX's writer.
        options={"on_error": "raise"},
        environment={
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "hush-hush-hush",
        },
        conftest=CONFTEST,
    )
    original, ours = peer_suites.run_both(suite, tmp_path)
    assert ours.keys() == PASSING | EXCLUDED.keys()
    peer_suites.check(original, ours, PASSING, EXCLUDED)
    # tensorboardX's test of an S3 log_dir does not check what was written there.
    bucket = s3fs.S3FileSystem(key="nobody", secret="hush-hush-hush", endpoint_url=endpoint)
    stored = " ".join(bucket.find("this/is/apen"))
    assert "events.out.tfevents" in stored
    assert "projector_config.pbtxt" in stored


def test_forked_processes_log_with_the_global_writer(tmp_path):
    subprocess.run([sys.executable, "-c", PROCESSES, tmp_path], check=True, timeout=600)
    accumulator = EventAccumulator(str(tmp_path), {"scalars": 0}).Reload()
    points = accumulator.Scalars("loss")
    # tensorboardX counts the steps of a tag across all processes.
    assert sorted(point.step for point in points) == list(range(400))
    assert Counter(point.value for point in points) == dict.fromkeys(range(100), 4)
