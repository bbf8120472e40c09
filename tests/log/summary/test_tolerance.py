"""Everything that torch's or tensorboardX's writer accepts is logged with the same values."""

import logging
from fnmatch import fnmatchcase

import pytest
import tensorboardX
from helpers.log_outcomes import Read, is_same, outcome
from helpers.odd_calls import CALLS
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from runfold.errors import CannotLog

# Calls that a peer accepts and Runfold rejects, with the reason.
REJECTED = {
    "scalar*: value meta tensor": "torch logs a random number for a tensor without data",
    "histogram: values meta tensor": "torch logs a random number for a tensor without data",
    "histogram: values all masked": "torch logs the masked numbers",
    "histogram: bins with nan": "a bin with a NaN edge never counts anything",
    "histogram_raw: min np.complex64": "complex numbers have no order",
    "image*: unknown last letter": "torch accepts any last letter for the missing axis",
    "images: list of ragged": "tensorboardX prints that it writes nothing",
    "images: list of batches": "tensorboardX prints that it writes nothing",
    "video: 5 channels": "the peers write a file that is not a GIF",
    "video: no f*": "the peers raise, unless moviepy is missing",
    "video: fps 0": "the peers raise, unless moviepy is missing",
    "video: fps negative": "the peers raise, unless moviepy is missing",
    "video: fps None": "the peers raise, unless moviepy is missing",
    "pr_curve_raw: 2-d": "TensorBoard cannot decode torch's data",
    "chart: *argin text": "torch uses each letter as a tag",
    "embedding: mat words": "the projector cannot read words as coordinates",
    "embedding: step nan": "torch names a folder 00nan",
    "mesh: vertices [24]*": "TensorBoard's page draws only 3-dimensional points",
    "mesh: vertices None": "there is nothing to draw",
    "mesh: colors one for all": "TensorBoard's page needs one color per vertex",
    "mesh: colors 4 channels": "TensorBoard's page draws only colors with 3 channels",
    "mesh: faces 4 corners": "TensorBoard's page draws only triangles",
}
# Calls whose values intentionally differ from the peer's, with the reason.
BETTER = {
    "*: time nan": "TensorBoard's Rust server rejects a file with such a time",
    "*: time inf": "TensorBoard's Rust server rejects a file with such a time",
    "*: tag half a surrogate pair": "tensorboardX cleans tags; Runfold does so on request",
    "scalar: shown name None": "tensorboardX stores empty metadata",
    "histogram: values with *": "NaN and infinity are left out, so that the rest can be read",
    "histogram: values object with None": "None is a missing number and is left out",
    "histogram: values masked": "masked numbers are left out",
    "tensor: tensor tensor of bfloat16": "TensorBoard cannot decode torch's data",
    "tensor: of uint8": "TensorBoard cannot decode torch's data",
    "tensor: of float16": "TensorBoard cannot decode torch's data",
    "image*: masked": "masked pixels are black",
    "images: list of pictures": "tensorboardX prints that it writes nothing",
    "images: list of HW": "tensorboardX prints that it writes nothing",
    "images: list NCHW": "tensorboardX prints that it writes nothing",
    "boxes: order of torch rescaled": "torch stores the size before rescaling",
    "boxes: order of torch short": "torch stores the size before rescaling",
    "audio: float16": "torch computes in float16, which keeps only 11 of 16 bits",
    "audio: tensor of bfloat16": "torch computes in float16, which keeps only 11 of 16 bits",
    "audio: int16": "WAV samples are stored unchanged; torch turns them into noise",
    "pr_curve: [lw]* nan": "predictions without a label or weight are left out; torch logs all NaN",
    "pr_curve: predictions masked": "masked predictions are left out",
    "pr_curve_raw: row": "TensorBoard cannot decode torch's data",
    "pr_curve_raw: *masked": "masked numbers are NaN",
    "chart: *line text": "a str is one tag; torch uses each letter as a tag",
    "chart: layout margin in small letters": "torch draws every kind except 'Margin' as lines",
    "chart: layout empty": "an empty layout shows nothing",
    "embedding: mat bool": "the projector cannot read True and False as coordinates",
    "embedding: mat complex": "the projector cannot read complex numbers",
    "embedding: mat texts": "the same numbers, written as floats",
    "embedding: mat empty": "torch refers to a file that it does not write",
    "embedding: mat masked": "masked numbers are NaN",
    "embedding: metadata tensor*": "labels are numbers; torch writes tensor(1)",
    "embedding: metadata list of tensors": "labels are numbers; torch writes tensor(1)",
    "embedding: metadata newlines": "a label with a line break would become two labels",
    "embedding: header one column": "the projector would show a single column's name as a label",
    "embedding: header array": "torch adds the names to the labels",
    "embedding: label_img bytes": "uint8 ranges to 255; torch makes everything white",
    "embedding: tag enum of text": "torch uses the name of the entry, only here",
    "embedding: step fraction": "the step is truncated, as in all other calls",
    "embedding: step tensor": "torch names the folder tensor(5)",
    "embedding: step bool": "torch names the folder 0True",
    "mesh: vertices masked": "masked numbers are NaN",
    "mesh: tag enum of text": "torch uses the name of the entry, only here",
    "mesh: tag bytes": "torch uses the repr of the bytes, only here",
}
# torch also accepts these calls, but treats tensorboardX's strings as flags.
TENSORBOARDX_ORDER = "scalar: shown *"


def find(name: str, reasons: dict[str, str]) -> str | None:
    return next((reasons[pattern] for pattern in reasons if fnmatchcase(name, pattern)), None)


def select(name: str, read: Read, peer: str) -> object:
    """Return the part of a log that two writers can agree on."""
    method = name.partition(":")[0]
    if method == "scalars":  # Runfold logs several tags in one run, the peers one run per key
        return [points for key, points in read.items() if " scalar " in key]
    if method == "boxes":  # the peers draw them differently
        return [[e[:4] for e in events] for key, events in read.items() if " image " in key]
    if method == "mesh" and peer == "tensorboardX":  # its tags differ; TensorBoard ignores them
        return list(read.values())
    return read


@pytest.fixture(autouse=True, scope="module")
def quiet():
    """Hide tensorboardX's messages about cleaned tags and arrays with NaN."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_a_peer_accepts_log_the_same_values(tmp_path, name):
    call = CALLS[name]
    ours = outcome(lambda path: rf.SummaryWriter(path, on_error="raise"), tmp_path / "ours", call)
    assert not isinstance(ours, Exception) or isinstance(ours, CannotLog)
    peers = {
        "torch": outcome(TorchWriter, tmp_path / "torch", call),
        "tensorboardX": outcome(tensorboardX.SummaryWriter, tmp_path / "tensorboardX", call),
    }
    if fnmatchcase(name, TENSORBOARDX_ORDER):
        del peers["torch"]
    logged = {peer: read for peer, read in peers.items() if not isinstance(read, Exception)}
    if not logged:
        return
    assert isinstance(ours, CannotLog) == (find(name, REJECTED) is not None)
    # The peers use moviepy for videos, and log nothing if it is missing.
    if isinstance(ours, CannotLog) or name.startswith("video:"):
        return
    peer, theirs = next(iter(logged.items()))
    # tensorboardX scales samples by 32768, torch by 32767.
    rounding = 0 if peer == "torch" else 2
    same = is_same(select(name, ours, peer), select(name, theirs, peer), rounding)
    assert same == (find(name, BETTER) is None)


@pytest.mark.parametrize("pattern", [*REJECTED, *BETTER, TENSORBOARDX_ORDER])
def test_every_known_difference_matches_a_call(pattern):
    assert any(fnmatchcase(name, pattern) for name in CALLS)
