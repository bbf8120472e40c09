"""torch's tests of its writer pass with Runfold's writer.

`make test` downloads the tests to build/peers, from the Linux distribution's source package. They
also run with torch's writer: a test that passes with that writer must pass with Runfold's, unless
it is listed here with a reason.
"""

from helpers import peer_suites

SUITE = peer_suites.Suite(
    folder=peer_suites.PEERS / "pytorch/test",
    modules=("torch.utils.tensorboard", "torch.utils.tensorboard.writer"),
    parts=(("test/test_tensorboard.py",),),
    # A value that cannot be logged fails the test, as with torch's writer.
    options={"on_error": "raise"},
)

PASSING = {
    "TestTensorBoardEmbedding::test_embedding",
    "TestTensorBoardEmbedding::test_embedding_64",
    "TestTensorBoardFigure::test_figure",
    "TestTensorBoardFigure::test_figure_list",
    "TestTensorBoardPyTorchNumpy::test_pytorch_histogram",
    "TestTensorBoardPyTorchNumpy::test_pytorch_histogram_raw",
    "TestTensorBoardPyTorchNumpy::test_pytorch_write",
    "TestTensorBoardPytorchGraph::test_mlp_graph",
    "TestTensorBoardPytorchGraph::test_nested_nn_squential",
    "TestTensorBoardPytorchGraph::test_pytorch_graph",
    "TestTensorBoardPytorchGraph::test_pytorch_graph_dict_input",
    "TestTensorBoardPytorchGraph::test_wrong_input_size",
    "TestTensorBoardSummaryWriter::test_pathlib",
    "TestTensorBoardSummaryWriter::test_summary_writer_close",
    "TestTensorBoardSummaryWriter::test_summary_writer_ctx",
    "TestTensorBoardWriter::test_writer",
}

EXCLUDED = {
    "TestTensorBoardNumpy::test_caffe2_np": "It needs caffe2, which is no longer published.",
    "TestTensorBoardNumpy::test_caffe2_np_expect_fail": "It needs caffe2.",
    "TestTensorBoardNumpy::test_caffe2_simple_cnnmodel": "It needs caffe2.",
    "TestTensorBoardNumpy::test_caffe2_simple_model": "It needs caffe2.",
    "TestTensorBoardPytorchGraph::test_torchvision_smoke": "It needs torchvision.",
    "TestTensorBoardSummary::test_hparams_wrong_parameter": (
        "It asserts that a metric that is a list raises NotImplementedError. "
        "Runfold raises CannotLog."
    ),
    **dict.fromkeys(
        [
            "TestTensorBoardNumpy::test_pytorch_np_expect_fail",
            "TestTensorBoardNumpy::test_scalar",
            "TestTensorBoardPyTorchNumpy::test_pytorch_autograd_np",
            "TestTensorBoardPyTorchNumpy::test_pytorch_np",
            "TestTensorBoardSummary::test_audio",
            "TestTensorBoardSummary::test_custom_scalars",
            "TestTensorBoardSummary::test_empty_input",
            "TestTensorBoardSummary::test_float32_image",
            "TestTensorBoardSummary::test_histogram_auto",
            "TestTensorBoardSummary::test_histogram_doane",
            "TestTensorBoardSummary::test_histogram_fd",
            "TestTensorBoardSummary::test_hparams_bool",
            "TestTensorBoardSummary::test_hparams_domain_discrete",
            "TestTensorBoardSummary::test_hparams_number",
            "TestTensorBoardSummary::test_hparams_smoke",
            "TestTensorBoardSummary::test_hparams_string",
            "TestTensorBoardSummary::test_image_with_3_channel_batched",
            "TestTensorBoardSummary::test_image_with_boxes",
            "TestTensorBoardSummary::test_image_with_one_channel",
            "TestTensorBoardSummary::test_image_with_one_channel_batched",
            "TestTensorBoardSummary::test_image_without_channel",
            "TestTensorBoardSummary::test_list_input",
            "TestTensorBoardSummary::test_mesh",
            "TestTensorBoardSummary::test_scalar_new_style",
            "TestTensorBoardSummary::test_text",
            "TestTensorBoardSummary::test_uint8_image",
            "TestTensorBoardSummary::test_video",
            "TestTensorBoardUtils::test_convert_to_HWC_dtype_remains_same",
            "TestTensorBoardUtils::test_numpy_vid_uint8",
            "TestTensorBoardUtils::test_prepare_video",
            "TestTensorBoardUtils::test_to_HWC",
        ],
        peer_suites.MAKES_NO_WRITER,
    ),
}


def test_torchs_writer_tests_pass(tmp_path):
    peer_suites.require(
        SUITE.folder, "`make test` fetches torch's tests where apt-get finds its source package"
    )
    original, ours = peer_suites.run_both(SUITE, tmp_path)
    peer_suites.check(original, ours, PASSING, EXCLUDED)
