"""Unusual but plausible calls to every add_* method, by name, for any package's writer.

Each is a function that takes the writer. It builds its arguments when it is called, because
a call can use them up: figures are closed, generators are exhausted.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import PIL.Image
import torch
from matplotlib.figure import Figure

Call = Callable[[Any], object]
TAG = "group/tag"


class TextTag(str, Enum):  # noqa: UP042 - its str() differs
    """Tags in an enum, as in some programs."""

    LOSS = "group/tag"


class HasFloat:
    """An object that can be converted to a number."""

    def __float__(self) -> float:
        return 1.5

    def __int__(self) -> int:
        return 1


class HasItems:
    """An object that has `items` but is not a mapping."""

    def items(self) -> list[tuple[str, float]]:
        return [("a", 1.5), ("b", 2.5)]


def masked(*numbers: float) -> np.ndarray:
    return np.ma.array(numbers, mask=[False, *[True] * (len(numbers) - 1)])


# Single numbers.
NUMBERS: dict[str, Callable[[], Any]] = {
    "int": lambda: 3,
    "large int": lambda: 10**30,
    "too large int": lambda: 10**400,
    "bool": lambda: True,
    "float": lambda: 0.1,
    "float beyond float32": lambda: 1e300,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "text": lambda: "0.5",
    "text with spaces": lambda: " 1e-3 ",
    "text of nan": lambda: "nan",
    "word": lambda: "half",
    "empty text": lambda: "",
    "bytes": lambda: b"0.5",
    "word in bytes": lambda: b"half",
    "None": lambda: None,
    "complex": lambda: 1.5 + 2j,
    "Decimal": lambda: Decimal("0.1"),
    "Fraction": lambda: Fraction(1, 3),
    "has __float__": HasFloat,
    "object": object,
    "timedelta": lambda: timedelta(seconds=3),
    "np.bool": lambda: np.True_,
    "np.int8": lambda: np.int8(-3),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.float16": lambda: np.float16(0.1),
    "np.float64": lambda: np.float64(0.1),
    "np.longdouble": lambda: np.longdouble("0.1"),
    "np.complex64": lambda: np.complex64(1.5 + 2j),
    "np.str": lambda: np.str_("0.5"),
    "np.bytes": lambda: np.bytes_(b"0.5"),
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "np.timedelta64": lambda: np.timedelta64(5, "s"),
    "np.void": lambda: np.void(b"abc"),
    "bfloat16 of ml_dtypes": lambda: ml_dtypes.bfloat16(0.5),
    "0-d": lambda: np.array(0.1),
    "1 element": lambda: np.array([0.1]),
    "1 x 1 x 1": lambda: np.array([[[0.1]]]),
    "0-d complex": lambda: np.array(1.5 + 2j),
    "0-d text": lambda: np.array("0.5"),
    "1 text": lambda: np.array(["0.5"]),
    "1 bytes": lambda: np.array([b"0.5"]),
    "0-d object": lambda: np.array(Decimal("0.1"), object),
    "1 object": lambda: np.array([Fraction(1, 3)], object),
    "1 None": lambda: np.array([None], object),
    "1 bfloat16 of ml_dtypes": lambda: np.array([0.1], ml_dtypes.bfloat16),
    "1 datetime64": lambda: np.array(["2020-01-01"], "datetime64[D]"),
    "1 timedelta64": lambda: np.array([5], "timedelta64[s]"),
    "1 big-endian": lambda: np.array([0.1], ">f8"),
    "2 elements": lambda: np.array([0.1, 0.2]),
    "no elements": lambda: np.array([]),
    "masked": lambda: np.ma.array([0.1], mask=[True]),
    "not masked": lambda: np.ma.array([0.1], mask=[False]),
    "np.ma.masked": lambda: np.ma.masked,
    "matrix": lambda: np.matrix([[0.1]]),
    "list": lambda: [0.1],
    "nested list": lambda: [[0.1]],
    "list of text": lambda: ["0.5"],
    "list of tensors": lambda: [torch.tensor(0.5)],
    "list of tensors of 1 element": lambda: [torch.tensor([0.5])],
    "tuple": lambda: (0.1,),
    "empty list": list,
    "dict": lambda: {"a": 0.1},
    "set": lambda: {0.1},
    "generator": lambda: (x for x in [0.1]),
    "range": lambda: range(3, 4),
    "Series": lambda: pd.Series([0.1]),
    "DataFrame": lambda: pd.DataFrame({"a": [0.1]}),
    "tensor": lambda: torch.tensor(0.1),
    "tensor of 1 element": lambda: torch.tensor([[0.1]]),
    "tensor of 2 elements": lambda: torch.tensor([0.1, 0.2]),
    "empty tensor": lambda: torch.tensor([]),
    "tensor with gradient": lambda: torch.tensor(0.1, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.tensor([0.1])),
    "float16 tensor": lambda: torch.tensor(0.1, dtype=torch.float16),
    "bfloat16 tensor": lambda: torch.tensor(0.1, dtype=torch.bfloat16),
    "float64 tensor": lambda: torch.tensor(0.1, dtype=torch.float64),
    "int8 tensor": lambda: torch.tensor(-3, dtype=torch.int8),
    "uint16 tensor": lambda: torch.tensor(3, dtype=torch.uint16),
    "bool tensor": lambda: torch.tensor(True),
    "complex tensor": lambda: torch.tensor(1.5 + 2j),
    "conjugated tensor": lambda: torch.tensor(1.5 + 2j).conj(),
    "sparse tensor": lambda: torch.tensor([0.1]).to_sparse(),
    "meta tensor": lambda: torch.ones(1, device="meta"),
}

# Single steps.
STEPS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "0": lambda: 0,
    "negative": lambda: -5,
    "float": lambda: 3.0,
    "fraction": lambda: 3.7,
    "negative fraction": lambda: -3.7,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "largest": lambda: 2**63 - 1,
    "smallest": lambda: -(2**63),
    "too large": lambda: 2**63,
    "too large float": lambda: 1e30,
    "too small": lambda: -(2**63) - 1,
    "bool": lambda: True,
    "text": lambda: "5",
    "text with spaces": lambda: " 5 ",
    "text with underscore": lambda: "1_000",
    "text of fraction": lambda: "3.7",
    "word": lambda: "last",
    "bytes": lambda: b"5",
    "Decimal": lambda: Decimal("3.7"),
    "Fraction": lambda: Fraction(7, 2),
    "complex": lambda: 3 + 0j,
    "has __int__": HasFloat,
    "np.int32": lambda: np.int32(5),
    "np.uint64": lambda: np.uint64(5),
    "np.float32": lambda: np.float32(3.7),
    "np.bool": lambda: np.True_,
    "np.str": lambda: np.str_("5"),
    "0-d": lambda: np.array(5),
    "0-d float": lambda: np.array(3.7),
    "0-d text": lambda: np.array("5"),
    "1 element": lambda: np.array([5]),
    "2 elements": lambda: np.array([5, 6]),
    "list": lambda: [5],
    "Series": lambda: pd.Series([5]),
    "tensor": lambda: torch.tensor(5),
    "tensor of 1 element": lambda: torch.tensor([5]),
    "float tensor": lambda: torch.tensor(3.7),
    "tensor with gradient": lambda: torch.tensor(5.0, requires_grad=True),
    "empty tensor": lambda: torch.tensor([]),
    "np.datetime64": lambda: np.datetime64(5, "s"),
    "np.timedelta64": lambda: np.timedelta64(5, "s"),
    "timedelta": lambda: timedelta(seconds=3),
}

# Single times.
TIMES: dict[str, Callable[[], Any]] = {
    "int": lambda: 17,
    "negative": lambda: -17.5,
    "0": lambda: 0,
    "bool": lambda: True,
    "text": lambda: "17.5",
    "Decimal": lambda: Decimal("17.5"),
    "Fraction": lambda: Fraction(35, 2),
    "has __float__": HasFloat,
    "np.float32": lambda: np.float32(17.5),
    "np.int64": lambda: np.int64(17),
    "0-d": lambda: np.array(17.5),
    "1 element": lambda: np.array([17.5]),
    "tensor": lambda: torch.tensor(17.5),
    "tensor of 1 element": lambda: torch.tensor([17.5]),
    "Timestamp": lambda: pd.Timestamp("2020-01-01"),
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "huge": lambda: 1e300,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
}

TAGS: dict[str, Callable[[], Any]] = {
    "empty": lambda: "",
    "slash": lambda: "/",
    "slash first": lambda: "/a",
    "spaces": lambda: "a b\tc\nd",
    "odd characters": lambda: "y=2x+C %$?:*|<>",
    "other scripts": lambda: "损失/ß é",
    "emoji": lambda: "loss 🔥",
    "nul": lambda: "a\0b",
    "long": lambda: "x" * 5000,
    "dots": lambda: "a/../b",
    "np.str": lambda: np.str_("group/tag"),
    "enum of text": lambda: TextTag.LOSS,
    "bytes": lambda: b"group/tag",
    "half a surrogate pair": lambda: "a\ud800",
}

RNG = np.random.default_rng(0)
ROW = RNG.normal(size=50)

# Arrays of any shape.
ARRAYS: dict[str, Callable[[], Any]] = {
    "list": lambda: [1, 2.5, 3],
    "nested list": lambda: [[1, 2], [3, 4]],
    "ragged list": lambda: [[1, 2], [3]],
    "list of text": lambda: ["1", "2.5"],
    "list of bool": lambda: [True, False],
    "list of tensors": lambda: [torch.tensor(1.0), torch.tensor(2.0)],
    "list of tensors with gradient": lambda: [torch.ones(2, requires_grad=True)] * 2,
    "list of arrays": lambda: [np.ones(2), np.zeros(2)],
    "tuple": lambda: (1, 2.5, 3),
    "range": lambda: range(10),
    "generator": lambda: (x for x in [1, 2]),
    "dict values": lambda: {"a": 1.0}.values(),
    "empty list": list,
    "empty array": lambda: np.zeros((0, 3)),
    "0-d": lambda: np.array(2.5),
    "number": lambda: 2.5,
    "bool": lambda: True,
    "text": lambda: "2.5",
    "word": lambda: "weights",
    "None": lambda: None,
    "float16": lambda: ROW.astype(np.float16),
    "float32": lambda: ROW.astype(np.float32),
    "longdouble": lambda: ROW.astype(np.longdouble),
    "bfloat16": lambda: ROW.astype(ml_dtypes.bfloat16),
    "bool array": lambda: ROW > 0,
    "int8": lambda: (ROW * 10).astype(np.int8),
    "uint64": lambda: np.array([0, 2**64 - 1], np.uint64),
    "int64": lambda: np.array([-(2**63), 2**63 - 1]),
    "complex": lambda: ROW + 1j,
    "object": lambda: np.array([1, 2.5, Decimal("3.5")], object),
    "object with None": lambda: np.array([1, None], object),
    "texts": lambda: np.array(["1", "2.5"]),
    "words": lambda: np.array(["a", "b"]),
    "datetimes": lambda: np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
    "timedeltas": lambda: np.array([1, 2], "timedelta64[s]"),
    "structured": lambda: np.zeros(2, [("a", float)]),
    "big-endian": lambda: ROW.astype(">f4"),
    "not contiguous": lambda: np.arange(24.0).reshape(4, 6)[::2, ::-3],
    "masked": lambda: masked(1, 2, 3),
    "nothing masked": lambda: np.ma.array([1.0, 2.0]),
    "all masked": lambda: np.ma.array([1.0, 2.0], mask=True),
    "matrix": lambda: np.matrix([[1.0, 2.0]]),
    "with nan": lambda: np.array([1.0, np.nan, 2.0]),
    "only nan": lambda: np.array([np.nan]),
    "with inf": lambda: np.array([1.0, np.inf, -np.inf]),
    "beyond the bins": lambda: np.array([1e30, 2e30]),
    "partly beyond the bins": lambda: np.array([1.0, 1e30]),
    "all equal": lambda: np.zeros(5),
    "Series": lambda: pd.Series([1.0, 2.0]),
    "DataFrame": lambda: pd.DataFrame({"a": [1.0, 2.0]}),
    "tensor with gradient": lambda: torch.arange(6.0).requires_grad_(),
    "tensor of bfloat16": lambda: torch.arange(6.0).to(torch.bfloat16),
    "tensor of int8": lambda: torch.arange(6, dtype=torch.int8),
    "tensor of uint16": lambda: torch.arange(6).to(torch.uint16),
    "tensor of complex": lambda: torch.tensor([1 + 1j, 2]),
    "tensor of bool": lambda: torch.tensor([True, False]),
    "tensor transposed": lambda: torch.arange(6.0).reshape(2, 3).T,
    "tensor expanded": lambda: torch.ones(1).expand(4),
    "empty tensor": lambda: torch.zeros(0),
    "0-d tensor": lambda: torch.tensor(2.5),
    "sparse tensor": lambda: torch.tensor([0.0, 1.0]).to_sparse(),
    "meta tensor": lambda: torch.ones(3, device="meta"),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2, 2)),
}

CHW = RNG.random((3, 8, 6)).astype(np.float32)
BYTES = RNG.integers(0, 256, (3, 8, 6)).astype(np.uint8)

# Images, with the order of their axes.
PICTURES: dict[str, tuple[Callable[[], Any], str]] = {
    "2 channels": (lambda: CHW[:2], "CHW"),
    "2 channels of bytes": (lambda: BYTES[:2].transpose(1, 2, 0), "HWC"),
    "1 channel": (lambda: CHW[:1], "CHW"),
    "4 channels": (lambda: np.concatenate([CHW, CHW[:1]]), "CHW"),
    "5 channels": (lambda: np.zeros((5, 4, 4)), "CHW"),
    "no channels": (lambda: np.zeros((0, 4, 4)), "CHW"),
    "no pixels": (lambda: np.zeros((3, 0, 4)), "CHW"),
    "1 pixel": (lambda: np.ones((3, 1, 1)), "CHW"),
    "HW": (lambda: CHW[0], "HW"),
    "WH": (lambda: CHW[0], "WH"),
    "WHC": (lambda: CHW.T, "WHC"),
    "HCW": (lambda: CHW.transpose(1, 0, 2), "HCW"),
    "small letters": (lambda: CHW, "chw"),
    "a letter twice": (lambda: CHW, "CCW"),
    "unknown last letter": (lambda: CHW.transpose(1, 2, 0), "HWX"),
    "too few axes": (lambda: CHW[0], "CHW"),
    "too many axes": (lambda: CHW[None], "CHW"),
    "batch": (lambda: CHW[None], "NCHW"),
    "batch of 9": (lambda: np.stack([CHW] * 9), "NCHW"),
    "batch of gray": (lambda: CHW[:, None], "NCHW"),
    "batch with opacity": (lambda: np.stack([np.concatenate([CHW, CHW[:1]])] * 3), "NCHW"),
    "batch of 2 channels": (lambda: CHW[None, :2], "NCHW"),
    "batch last": (lambda: CHW[None].transpose(2, 3, 1, 0), "HWCN"),
    "empty batch": (lambda: np.zeros((0, 3, 4, 4)), "NCHW"),
    "list": (lambda: CHW.tolist(), "CHW"),
    "tuple": (lambda: tuple(CHW), "CHW"),
    "list of arrays": (lambda: list(CHW), "CHW"),
    "list of tensors": (lambda: list(torch.tensor(CHW)), "CHW"),
    "list of pictures": (lambda: [CHW, CHW], "NCHW"),
    "list of ragged": (lambda: [CHW, CHW[:, 1:]], "NCHW"),
    "bytes": (lambda: BYTES, "CHW"),
    "float16": (lambda: CHW.astype(np.float16), "CHW"),
    "float64": (lambda: CHW.astype(np.float64), "CHW"),
    "bool": (lambda: CHW > 0.5, "CHW"),
    "int8": (lambda: (CHW > 0.5).astype(np.int8), "CHW"),
    "int64 to 255": (lambda: BYTES.astype(np.int64), "CHW"),
    "uint16": (lambda: (CHW > 0.5).astype(np.uint16), "CHW"),
    "complex": (lambda: CHW + 0.5j, "CHW"),
    "object": (lambda: CHW.astype(object), "CHW"),
    "texts": (lambda: CHW.astype(str), "CHW"),
    "beyond 1": (lambda: CHW * 2 - 0.5, "CHW"),
    "to 255": (lambda: BYTES.astype(np.float32), "CHW"),
    "nan": (lambda: np.where(CHW > 0.5, np.nan, CHW), "CHW"),
    "inf": (lambda: np.where(CHW > 0.5, np.inf, CHW), "CHW"),
    "masked": (lambda: np.ma.array(CHW, mask=CHW > 0.5), "CHW"),
    "not contiguous": (lambda: CHW[:, ::-2, ::3], "CHW"),
    "big-endian": (lambda: CHW.astype(">f8"), "CHW"),
    "PIL": (lambda: PIL.Image.fromarray(BYTES.transpose(1, 2, 0).copy()), "HWC"),
    "PIL in gray": (lambda: PIL.Image.fromarray(BYTES[0]), "HW"),
    "tensor": (lambda: torch.tensor(CHW), "CHW"),
    "tensor with gradient": (lambda: torch.tensor(CHW, requires_grad=True), "CHW"),
    "tensor of bytes": (lambda: torch.tensor(BYTES), "CHW"),
    "tensor of bfloat16": (lambda: torch.tensor(CHW).to(torch.bfloat16), "CHW"),
    "channels last": (
        lambda: torch.tensor(CHW[None]).to(memory_format=torch.channels_last),
        "NCHW",
    ),
    "number": (lambda: 0.5, "CHW"),
    "word": (lambda: "picture", "CHW"),
    "None": (lambda: None, "CHW"),
    "one axis": (lambda: CHW[0, 0], "W"),
    "dataformats None": (lambda: CHW, None),
}

SOUND = np.sin(np.arange(100) / 5).astype(np.float32) / 2
SOUNDS: dict[str, Callable[[], Any]] = {
    "1-d": lambda: SOUND,
    "row": lambda: SOUND[None],
    "column": lambda: SOUND[:, None],
    "1 x 1 x n": lambda: SOUND[None, None],
    "stereo": lambda: np.stack([SOUND, -SOUND], 1),
    "stereo in rows": lambda: np.stack([SOUND, -SOUND]),
    "3 channels": lambda: np.stack([SOUND] * 3, 1),
    "3-d": lambda: np.zeros((2, 2, 10)),
    "1 sample": lambda: np.array([0.5]),
    "number": lambda: 0.5,
    "empty": lambda: np.zeros(0),
    "list": lambda: SOUND.tolist(),
    "tuple": lambda: tuple(SOUND.tolist()),
    "beyond 1": lambda: SOUND * 4,
    "nan": lambda: np.where(SOUND > 0.4, np.nan, SOUND),
    "inf": lambda: np.where(SOUND > 0.4, np.inf, SOUND),
    "float16": lambda: SOUND.astype(np.float16),
    "float64": lambda: SOUND.astype(np.float64),
    "int16": lambda: (SOUND * 32767).astype(np.int16),
    "int32": lambda: np.array([0, 1, -1, 1], np.int32),
    "uint8": lambda: np.array([0, 1, 1], np.uint8),
    "int8": lambda: np.array([0, 1, -1], np.int8),
    "bool": lambda: SOUND > 0,
    "complex": lambda: SOUND + 0.25j,
    "object": lambda: SOUND.astype(object),
    "texts": lambda: SOUND.astype(str),
    "masked": lambda: np.ma.array(SOUND, mask=SOUND > 0.4),
    "tensor": lambda: torch.tensor(SOUND),
    "tensor with gradient": lambda: torch.tensor(SOUND, requires_grad=True),
    "tensor of bfloat16": lambda: torch.tensor(SOUND).to(torch.bfloat16),
    "None": lambda: None,
    "word": lambda: "sound.wav",
}
RATES: dict[str, Callable[[], Any]] = {
    "float": lambda: 16000.0,
    "fraction": lambda: 11025.5,
    "np.int64": lambda: np.int64(8000),
    "tensor": lambda: torch.tensor(8000),
    "text": lambda: "8000",
    "0": lambda: 0,
    "negative": lambda: -1,
    "None": lambda: None,
    "bool": lambda: True,
    "1-element": lambda: np.array([8000]),
}

BOXES = np.array([[1, 1, 4, 5], [2, 2, 5, 7]], np.float32)
CANVAS = np.zeros((3, 40, 40), np.float32)


def figure(inches: float = 1) -> Figure:
    made = Figure(figsize=(inches, 1), dpi=20)
    made.add_subplot().plot([1, 2])
    return made


def scalar_calls() -> Iterator[tuple[str, Call]]:
    for name, make in NUMBERS.items():
        yield f"value {name}", lambda w, make=make: w.add_scalar(TAG, make(), 1)
    for name, make in STEPS.items():
        yield f"step {name}", lambda w, make=make: w.add_scalar(TAG, 1.5, make())
    for name, make in TIMES.items():
        yield f"time {name}", lambda w, make=make: w.add_scalar(TAG, 1.5, 1, make())
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_scalar(make(), 1.5, 1)
    yield "no step", lambda w: w.add_scalar(TAG, 1.5)
    yield "by name", lambda w: w.add_scalar(scalar_value=1.5, tag=TAG, global_step=1, walltime=2)
    yield "new style", lambda w: w.add_scalar(TAG, 1.5, 1, 2.0, True)
    yield "new style as 1", lambda w: w.add_scalar(TAG, 1.5, 1, 2.0, 1)
    yield "new style double", lambda w: w.add_scalar(TAG, 0.1, 1, 2.0, True, True)
    yield "double", lambda w: w.add_scalar(TAG, 0.1, 1, 2.0, False, True)
    yield "double by name", lambda w: w.add_scalar(TAG, 0.1, 1, double_precision=True)
    yield "new style None", lambda w: w.add_scalar(TAG, 0.1, 1, 2.0, None, None)
    yield "shown name", lambda w: w.add_scalar(TAG, 1.5, 1, 2.0, "name")
    yield "shown name and text", lambda w: w.add_scalar(TAG, 1.5, 1, 2.0, "name", "text")
    yield "shown text alone", lambda w: w.add_scalar(TAG, 1.5, 1, 2.0, "", "text")
    yield (
        "shown name and text by name",
        lambda w: w.add_scalar(TAG, 1.5, 1, 2.0, "name", summary_description="text"),
    )
    yield "shown name None", lambda w: w.add_scalar(TAG, 1.5, 1, display_name=None)


def scalars_calls() -> Iterator[tuple[str, Call]]:
    for name, make in NUMBERS.items():
        yield f"value {name}", lambda w, make=make: w.add_scalars("main", {"a": make()}, 1)
    for name in ("fraction", "text", "tensor", "None", "too large", "nan"):
        make = STEPS[name]
        yield f"step {name}", lambda w, make=make: w.add_scalars("main", {"a": 1.5}, make())
    for name in ("tensor", "Decimal", "text", "nan"):
        make = TIMES[name]
        yield f"time {name}", lambda w, make=make: w.add_scalars("main", {"a": 1.5}, 1, make())
    dicts: Mapping[str, Callable[[], Any]] = {
        "empty": dict,
        "Series": lambda: pd.Series({"a": 1.5, "b": 2.5}),
        "has items": HasItems,
        "list": lambda: [("a", 1.5)],
        "None": lambda: None,
        "number": lambda: 1.5,
        "key int": lambda: {1: 1.5},
        "key None": lambda: {None: 1.5},
        "key np.str": lambda: {np.str_("a"): 1.5},
        "key enum of text": lambda: {TextTag.LOSS: 1.5},
        "key with slash": lambda: {"a/b": 1.5},
        "key empty": lambda: {"": 1.5},
    }
    for name, make in dicts.items():
        yield f"dict {name}", lambda w, make=make: w.add_scalars("main", make(), 1)
    for name, make in TAGS.items():
        if name not in ("long", "nul"):  # the peers use the tag as a folder's name
            yield f"tag {name}", lambda w, make=make: w.add_scalars(make(), {"a": 1.5}, 1)


def histogram_calls() -> Iterator[tuple[str, Call]]:
    for name, make in ARRAYS.items():
        yield f"values {name}", lambda w, make=make: w.add_histogram(TAG, make(), 1)
    for name in ("fraction", "text", "tensor", "None", "nan"):
        make = STEPS[name]
        yield f"step {name}", lambda w, make=make: w.add_histogram(TAG, ROW, make())
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_histogram(make(), ROW, 1)
    bins: Mapping[str, Callable[[], Any]] = {
        "auto": lambda: "auto",
        "fd": lambda: "fd",
        "unknown": lambda: "none such",
        "int": lambda: 7,
        "bool": lambda: True,
        "float": lambda: 7.0,
        "np.int64": lambda: np.int64(7),
        "0": lambda: 0,
        "negative": lambda: -1,
        "list": lambda: [-3, 0, 1, 3],
        "tuple": lambda: (-3, 0, 1, 3),
        "range": lambda: range(-3, 4),
        "array": lambda: np.linspace(-3, 3, 5),
        "tensor": lambda: torch.linspace(-3, 3, 5),
        "tensor of one": lambda: torch.tensor(7),
        "one edge": lambda: [0.0],
        "no edge": list,
        "not sorted": lambda: [3, 1, 2],
        "outside": lambda: [100.0, 200.0],
        "None": lambda: None,
        "text of int": lambda: "7",
        "with inf": lambda: [-np.inf, 0, np.inf],
        "with nan": lambda: [-3, np.nan, 3],
        "Series": lambda: pd.Series([-3.0, 0.0, 3.0]),
    }
    for name, make in bins.items():
        yield f"bins {name}", lambda w, make=make: w.add_histogram(TAG, ROW, 1, make())
    limits: Mapping[str, Callable[[], Any]] = {
        "int": lambda: 5,
        "1": lambda: 1,
        "bool": lambda: True,
        "large": lambda: 10**6,
        "float": lambda: 5.0,
        "large float": lambda: 1e6,
        "fraction": lambda: 5.5,
        "inf": lambda: np.inf,
        "nan": lambda: np.nan,
        "np.int32": lambda: np.int32(5),
        "0-d": lambda: np.array(5),
        "tensor": lambda: torch.tensor(5),
        "0": lambda: 0,
        "negative": lambda: -5,
        "text": lambda: "5",
    }
    for name, make in limits.items():
        yield (
            f"max_bins {name}",
            lambda w, make=make: w.add_histogram(TAG, ROW, 1, max_bins=make()),
        )
    yield "positional", lambda w: w.add_histogram(TAG, ROW, 1, "auto", 2.0, 5)


def raw(w: Any, **changed: Any) -> None:
    arguments: dict[str, Any] = {
        "tag": TAG,
        "min": 0,
        "max": 3,
        "num": 6,
        "sum": 9.0,
        "sum_squares": 19,
        "bucket_limits": [1, 2, 3],
        "bucket_counts": [1, 2, 3],
        "global_step": 1,
    }
    w.add_histogram_raw(**(arguments | changed))


def histogram_raw_calls() -> Iterator[tuple[str, Call]]:
    yield "positional", lambda w: w.add_histogram_raw(TAG, 0, 3, 6, 9, 19, [1, 2], [3, 3], 5, 6.0)
    for name, make in NUMBERS.items():
        yield f"min {name}", lambda w, make=make: raw(w, min=make())
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: raw(w, tag=make())
    rows: Mapping[str, Callable[[], Any]] = {
        "tuple": lambda: (1, 2, 3),
        "range": lambda: range(1, 4),
        "array": lambda: np.array([1, 2, 3], np.float16),
        "column": lambda: np.array([[1], [2], [3]]),
        "row": lambda: np.array([[1, 2, 3]]),
        "2-d": lambda: np.ones((3, 2)),
        "tensor": lambda: torch.tensor([1, 2, 3]),
        "tensor with gradient": lambda: torch.tensor([1.0, 2, 3], requires_grad=True),
        "tensor in a column": lambda: torch.tensor([[1.0], [2], [3]]),
        "list of tensors": lambda: list(torch.tensor([1, 2, 3])),
        "list of Decimals": lambda: [Decimal(1), Fraction(2), 3],
        "list of text": lambda: ["1", "2", "3"],
        "list with None": lambda: [1, None, 3],
        "object array": lambda: np.array([1, 2.5, Decimal(3)], object),
        "with nan": lambda: [1, np.nan, 3],
        "with inf": lambda: [1, 2, np.inf],
        "Series": lambda: pd.Series([1, 2, 3]),
        "keys": lambda: {1: "a", 2: "b", 3: "c"}.keys(),
        "too short": lambda: [1, 2],
        "None": lambda: None,
        "generator": lambda: (x for x in [1, 2, 3]),
        "complex": lambda: np.array([1j, 2, 3]),
        "bool": lambda: [True, False, True],
        "masked": lambda: masked(1, 2, 3),
    }
    for name, make in rows.items():
        yield f"limits {name}", lambda w, make=make: raw(w, bucket_limits=make())
        yield f"counts {name}", lambda w, make=make: raw(w, bucket_counts=make())
    yield "no buckets", lambda w: raw(w, bucket_limits=[], bucket_counts=[])


def tensor_calls() -> Iterator[tuple[str, Call]]:
    for name, make in ARRAYS.items():
        yield f"tensor {name}", lambda w, make=make: w.add_tensor(TAG, make(), 1)
    kinds = "float64 uint8 int16 int32 int64 complex64 complex128 float16 bool uint32 uint64"
    for kind in kinds.split():
        yield (
            f"of {kind}",
            lambda w, kind=kind: w.add_tensor(TAG, torch.ones(2, 3, dtype=getattr(torch, kind)), 1),
        )
    yield "float8", lambda w: w.add_tensor(TAG, torch.ones(2).to(torch.float8_e5m2), 1)
    yield "0-d", lambda w: w.add_tensor(TAG, torch.tensor(1.5), 1)
    yield "4-d", lambda w: w.add_tensor(TAG, torch.arange(24.0).reshape(1, 2, 3, 4), 1, 2.0)
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_tensor(make(), torch.ones(2), 1)


def image_calls() -> Iterator[tuple[str, Call]]:
    for name, (make, axes) in PICTURES.items():
        yield name, lambda w, make=make, axes=axes: w.add_image(TAG, make(), 1, None, axes)
    for name in ("fraction", "text", "tensor", "None", "nan"):
        make = STEPS[name]
        yield f"step {name}", lambda w, make=make: w.add_image(TAG, CHW, make())
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_image(make(), CHW, 1)


def images_calls() -> Iterator[tuple[str, Call]]:
    for name, (make, axes) in PICTURES.items():
        yield name, lambda w, make=make, axes=axes: w.add_images(TAG, make(), 1, None, axes)
    batches: Mapping[str, tuple[Callable[[], Any], str]] = {
        "list CHW": (lambda: [CHW, CHW / 2], "CHW"),
        "list chw": (lambda: [CHW, CHW / 2], "chw"),
        "list HWC": (lambda: [CHW.transpose(1, 2, 0)] * 3, "HWC"),
        "list of tensors CHW": (lambda: [torch.tensor(CHW)] * 2, "CHW"),
        "list of tensors with gradient CHW": (
            lambda: [torch.tensor(CHW, requires_grad=True)] * 2,
            "CHW",
        ),
        "list of tensors and arrays": (lambda: [torch.tensor(CHW), CHW], "CHW"),
        "list of lists CHW": (lambda: [CHW.tolist()] * 2, "CHW"),
        "list of gray CHW": (lambda: [CHW[:1]] * 2, "CHW"),
        "list of HW": (lambda: [CHW[0]] * 2, "HW"),
        "list of bytes CHW": (lambda: [BYTES] * 2, "CHW"),
        "list of 10": (lambda: [CHW] * 10, "CHW"),
        "list NCHW": (lambda: [CHW] * 2, "NCHW"),
        "list of batches": (lambda: [CHW[None]] * 2, "NCHW"),
        "list of different sizes": (lambda: [CHW, CHW[:, 1:]], "CHW"),
        "empty list CHW": (list, "CHW"),
        "tuple CHW": (lambda: (CHW, CHW), "CHW"),
    }
    for name, (make, axes) in batches.items():
        yield name, lambda w, make=make, axes=axes: w.add_images(TAG, make(), 1, None, axes)
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_images(make(), CHW[None], 1)


def boxes_calls() -> Iterator[tuple[str, Call]]:
    boxes: Mapping[str, Callable[[], Any]] = {
        "array": lambda: BOXES,
        "int": lambda: BOXES.astype(int),
        "float16": lambda: BOXES.astype(np.float16),
        "list": lambda: BOXES.tolist(),
        "tensor": lambda: torch.tensor(BOXES),
        "tensor with gradient": lambda: torch.tensor(BOXES, requires_grad=True),
        "5 columns": lambda: np.concatenate([BOXES, np.ones((2, 1))], 1),
        "3 columns": lambda: BOXES[:, :3],
        "one box": lambda: BOXES[0],
        "none": lambda: np.zeros((0, 4)),
        "none, 1-d": lambda: np.zeros(0),
        "outside": lambda: BOXES + 1000,
        "negative": lambda: -BOXES,
        "swapped": lambda: BOXES[:, ::-1],
        "nan": lambda: np.array([[1, 1, np.nan, 3], [1, 1, 4, 5]]),
        "inf": lambda: np.array([[1, 1, np.inf, 3], [1, 1, 4, 5]]),
        "huge": lambda: BOXES * 1e30,
        "None": lambda: None,
        "bool": lambda: BOXES > 2,
        "complex": lambda: BOXES + 1j,
        "3-d": lambda: BOXES[None],
    }
    for name, make in boxes.items():
        yield (
            f"boxes {name}",
            lambda w, make=make: w.add_image_with_boxes(TAG, CANVAS, make(), 1),
        )
    labels: Mapping[str, Callable[[], Any]] = {
        "list": lambda: ["a", "b"],
        "tuple": lambda: ("a", "b"),
        "text": lambda: "ab",
        "text of 2": lambda: "a",
        "too few": lambda: ["a"],
        "empty": list,
        "ints": lambda: [0, 1],
        "None inside": lambda: [None, "b"],
        "array": lambda: np.array(["a", "b"]),
        "tensor": lambda: torch.tensor([0, 1]),
        "empty text": lambda: ["", "b"],
        "other scripts": lambda: ["损失", "ß"],
        "bytes": lambda: [b"a", b"b"],
    }
    for name, make in labels.items():
        yield (
            f"labels {name}",
            lambda w, make=make: w.add_image_with_boxes(TAG, CANVAS, BOXES, 1, labels=make()),
        )
    for name in ("2 channels", "2 channels of bytes", "1 channel", "4 channels", "5 channels"):
        make, axes = PICTURES[name]
        yield (
            f"picture {name}",
            lambda w, make=make, axes=axes: w.add_image_with_boxes(
                TAG, make(), BOXES, 1, dataformats=axes
            ),
        )
    for name in ("HW", "batch", "list", "complex", "bool", "object", "nan", "tensor of bytes"):
        make, axes = PICTURES[name]
        yield (
            f"picture {name}",
            lambda w, make=make, axes=axes: w.add_image_with_boxes(
                TAG, make(), BOXES, 1, dataformats=axes
            ),
        )
    order = {
        "torch": (None, 1, "CHW", ["a", "b"]),
        "torch rescaled": (None, 2, "CHW", ["a", "b"]),
        "torch short": (2.0, 0.5),
        "tensorboardX": (None, "CHW", ["a", "b"]),
        "tensorboardX HWC": (2.0, "HWC", ["a", "b"]),
        "tensorboardX short": (2.0, "CHW"),
        "tensorboardX without labels": (2.0, "CHW", None),
    }
    for name, rest in order.items():
        picture = CANVAS.transpose(1, 2, 0) if "HWC" in rest else CANVAS
        yield (
            f"order of {name}",
            lambda w, picture=picture, rest=rest: w.add_image_with_boxes(
                TAG, picture, BOXES, 1, *rest
            ),
        )
    yield (
        "order of tensorboardX, labels by name",
        lambda w: w.add_image_with_boxes(TAG, CANVAS, BOXES, 1, None, "CHW", labels=["a", "b"]),
    )
    for name, value in {"0": 0, "negative": -1, "tiny": 0.001, "None": None, "nan": np.nan}.items():
        yield (
            f"rescale {name}",
            lambda w, value=value: w.add_image_with_boxes(TAG, CANVAS, BOXES, 1, rescale=value),
        )
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_image_with_boxes(make(), CANVAS, BOXES, 1)


def figure_calls() -> Iterator[tuple[str, Call]]:
    figures: Mapping[str, Callable[[], Any]] = {
        "figure": figure,
        "list": lambda: [figure(), figure()],
        "list of one": lambda: [figure()],
        "tuple": lambda: (figure(), figure()),
        "different sizes": lambda: [figure(), figure(2)],
        "empty list": list,
        "None": lambda: None,
        "axes": lambda: figure().axes[0],
        "subfigure": lambda: figure().subfigures(),
        "array": lambda: CHW,
        "empty figure": lambda: Figure(figsize=(1, 1), dpi=20),
    }
    for name, make in figures.items():
        yield name, lambda w, make=make: w.add_figure(TAG, make(), 1)
    yield "close as 0", lambda w: w.add_figure(TAG, figure(), 1, 0, 2.0)
    yield "close as None", lambda w: w.add_figure(TAG, figure(), 1, None, 2.0)
    for name in ("fraction", "text", "tensor", "nan"):
        make = STEPS[name]
        yield f"step {name}", lambda w, make=make: w.add_figure(TAG, figure(), make())
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_figure(make(), figure(), 1)


FILM = RNG.random((1, 3, 3, 6, 8)).astype(np.float32)


def video_calls() -> Iterator[tuple[str, Call]]:
    films: Mapping[str, Callable[[], Any]] = {
        "film": lambda: FILM,
        "bytes": lambda: (FILM * 255).astype(np.uint8),
        "1 channel": lambda: FILM[:, :, :1],
        "2 channels": lambda: FILM[:, :, :2],
        "4 channels": lambda: np.concatenate([FILM, FILM[:, :, :1]], 2),
        "5 channels": lambda: np.concatenate([FILM, FILM[:, :, :2]], 2),
        "3 films": lambda: np.concatenate([FILM] * 3),
        "1 frame": lambda: FILM[:, :1],
        "no frame": lambda: FILM[:, :0],
        "no film": lambda: FILM[:0],
        "4-d": lambda: FILM[0],
        "list": lambda: FILM.tolist(),
        "list of tensors": lambda: list(torch.tensor(FILM)),
        "float64": lambda: FILM.astype(np.float64),
        "float16": lambda: FILM.astype(np.float16),
        "bool": lambda: FILM > 0.5,
        "int64": lambda: (FILM > 0.5).astype(np.int64),
        "complex": lambda: FILM + 0.5j,
        "object": lambda: FILM.astype(object),
        "texts": lambda: FILM.astype(str),
        "nan": lambda: np.where(FILM > 0.5, np.nan, FILM),
        "beyond 1": lambda: FILM * 3 - 1,
        "tensor": lambda: torch.tensor(FILM),
        "tensor with gradient": lambda: torch.tensor(FILM, requires_grad=True),
        "None": lambda: None,
    }
    for name, make in films.items():
        yield name, lambda w, make=make: w.add_video(TAG, make(), 1)
    rates = {"float": 2.5, "text": "4", "tensor": torch.tensor(4), "0": 0, "negative": -1}
    for name, rate in (rates | {"None": None, "np.int64": np.int64(4), "huge": 1e9}).items():
        yield f"fps {name}", lambda w, rate=rate: w.add_video(TAG, FILM, 1, rate)
    yield "positional", lambda w: w.add_video(TAG, FILM, 1, 4, 2.0)
    yield (
        "dataformats",
        lambda w: w.add_video(TAG, FILM.transpose(1, 0, 3, 4, 2), 1, dataformats="TNHWC"),
    )
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_video(make(), FILM, 1)


def audio_calls() -> Iterator[tuple[str, Call]]:
    for name, make in SOUNDS.items():
        yield name, lambda w, make=make: w.add_audio(TAG, make(), 1)
    for name, make in RATES.items():
        yield f"rate {name}", lambda w, make=make: w.add_audio(TAG, SOUND, 1, make())
    yield "positional", lambda w: w.add_audio(TAG, SOUND, 1, 8000, 2.0)
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_audio(make(), SOUND, 1)


def text_calls() -> Iterator[tuple[str, Call]]:
    texts: Mapping[str, Callable[[], Any]] = {
        "text": lambda: "# Title\n\n* one",
        "empty": lambda: "",
        "other scripts": lambda: "损失 🔥",
        "nul": lambda: "a\0b",
        "long": lambda: "x" * 10**6,
        "np.str": lambda: np.str_("text"),
        "enum of text": lambda: TextTag.LOSS,
        "bytes": lambda: b"text",
        "int": lambda: 5,
        "float": lambda: 0.5,
        "None": lambda: None,
        "list": lambda: ["a", "b"],
        "dict": lambda: {"a": 1},
        "path": lambda: Path("a/b"),
        "array": lambda: np.array(["a", "b"]),
        "exception": lambda: ValueError("no"),
        "half a surrogate pair": lambda: "a\ud800",
    }
    for name, make in texts.items():
        yield name, lambda w, make=make: w.add_text(TAG, make(), 1)
    for name, make in STEPS.items():
        yield f"step {name}", lambda w, make=make: w.add_text(TAG, "text", make())
    for name, make in TIMES.items():
        yield f"time {name}", lambda w, make=make: w.add_text(TAG, "text", 1, make())
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_text(make(), "text", 1)


LABELS = np.array([0, 1, 1, 0, 1, 0])
SCORES = np.array([0.1, 0.9, 0.6, 0.3, 0.4, 1.0])


def pr_curve_calls() -> Iterator[tuple[str, Call]]:
    labels: Mapping[str, Callable[[], Any]] = {
        "array": lambda: LABELS,
        "bool": lambda: LABELS > 0,
        "float": lambda: LABELS / 2,
        "list": lambda: LABELS.tolist(),
        "tuple": lambda: tuple(LABELS.tolist()),
        "tensor": lambda: torch.tensor(LABELS),
        "texts": lambda: LABELS.astype(str),
        "object": lambda: LABELS.astype(object),
        "beyond 1": lambda: LABELS * 3 - 1,
        "nan": lambda: np.where(LABELS > 0, np.nan, 0.0),
        "complex": lambda: LABELS + 1j,
        "column": lambda: LABELS[:, None],
        "too few": lambda: LABELS[:3],
        "one for all": lambda: LABELS[:1],
        "number": lambda: 1,
        "None": lambda: None,
        "Series": lambda: pd.Series(LABELS),
    }
    for name, make in labels.items():
        yield f"labels {name}", lambda w, make=make: w.add_pr_curve(TAG, make(), SCORES, 1)
    scores: Mapping[str, Callable[[], Any]] = {
        "list": lambda: SCORES.tolist(),
        "tensor": lambda: torch.tensor(SCORES),
        "tensor with gradient": lambda: torch.tensor(SCORES, requires_grad=True),
        "float16": lambda: SCORES.astype(np.float16),
        "int": lambda: LABELS,
        "bool": lambda: LABELS > 0,
        "texts": lambda: SCORES.astype(str),
        "object": lambda: SCORES.astype(object),
        "complex": lambda: SCORES + 1j,
        "nan": lambda: np.where(SCORES > 0.5, np.nan, SCORES),
        "only nan": lambda: SCORES * np.nan,
        "inf": lambda: np.where(SCORES > 0.5, np.inf, SCORES),
        "beyond 1": lambda: SCORES * 4 - 1,
        "all beyond 1": lambda: SCORES + 7,
        "masked": lambda: np.ma.array(SCORES, mask=SCORES > 0.5),
        "None": lambda: None,
    }
    for name, make in scores.items():
        yield f"predictions {name}", lambda w, make=make: w.add_pr_curve(TAG, LABELS, make(), 1)
    yield "2-d", lambda w: w.add_pr_curve(TAG, LABELS.reshape(2, 3), SCORES.reshape(2, 3), 1)
    yield "numbers", lambda w: w.add_pr_curve(TAG, 1, 0.7, 1)
    yield "0-d", lambda w: w.add_pr_curve(TAG, np.array(1), np.array(0.7), 1)
    yield "empty", lambda w: w.add_pr_curve(TAG, np.zeros(0), np.zeros(0), 1)
    thresholds: Mapping[str, Any] = {
        "10": 10,
        "1": 1,
        "2": 2,
        "0": 0,
        "negative": -1,
        "200": 200,
        "bool": True,
        "float": 10.0,
        "large float": 1000.0,
        "inf": np.inf,
        "np.int64": np.int64(10),
        "0-d": np.array(10),
        "tensor": torch.tensor(10),
        "text": "10",
        "None": None,
    }
    for name, count in thresholds.items():
        yield (
            f"thresholds {name}",
            lambda w, count=count: w.add_pr_curve(TAG, LABELS, SCORES, 1, count),
        )
    weights: Mapping[str, Callable[[], Any]] = {
        "number": lambda: 2.5,
        "int": lambda: 2,
        "array": lambda: SCORES * 2,
        "1 element": lambda: np.array([2.0]),
        "list": lambda: SCORES.tolist(),
        "tuple": lambda: tuple(SCORES.tolist()),
        "tensor": lambda: torch.tensor(SCORES),
        "nan": lambda: np.where(SCORES > 0.5, np.nan, 1.0),
        "negative": lambda: -SCORES,
        "too few": lambda: SCORES[:3],
        "column": lambda: SCORES[:, None],
        "text": lambda: "2",
        "complex": lambda: SCORES + 1j,
        "object": lambda: SCORES.astype(object),
    }
    for name, make in weights.items():
        yield (
            f"weights {name}",
            lambda w, make=make: w.add_pr_curve(TAG, LABELS, SCORES, 1, 10, make()),
        )
    yield (
        "one label, weights for all",
        lambda w: w.add_pr_curve(TAG, np.ones(1), SCORES, 1, 10, np.ones(6)),
    )
    yield "positional", lambda w: w.add_pr_curve(TAG, LABELS, SCORES, 1, 10, None, 2.0)
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_pr_curve(make(), LABELS, SCORES, 1)


def pr_curve_raw_calls() -> Iterator[tuple[str, Call]]:
    rows: Mapping[str, Callable[[], Any]] = {
        "list": lambda: [3, 2, 1],
        "tuple": lambda: (3, 2, 1),
        "range": lambda: range(3),
        "array": lambda: np.array([3, 2, 1.5]),
        "float16": lambda: np.array([3, 2, 1.5], np.float16),
        "tensor": lambda: torch.tensor([3, 2, 1]),
        "tensor with gradient": lambda: torch.tensor([3.0, 2, 1], requires_grad=True),
        "list of tensors": lambda: list(torch.tensor([3, 2, 1])),
        "column": lambda: np.array([[3], [2], [1]]),
        "row": lambda: np.array([[3, 2, 1]]),
        "2-d": lambda: np.ones((3, 2)),
        "empty": lambda: np.zeros(0),
        "1 element": lambda: [3],
        "number": lambda: 3,
        "nan": lambda: [3, np.nan, 1],
        "inf": lambda: [3, np.inf, 1],
        "beyond float32": lambda: [3, 1e300, 1],
        "texts": lambda: ["3", "2", "1"],
        "complex": lambda: [3j, 2, 1],
        "bool": lambda: [True, False, True],
        "object": lambda: np.array([3, 2, Decimal(1)], object),
        "None": lambda: None,
        "Series": lambda: pd.Series([3, 2, 1]),
        "masked": lambda: masked(3, 2, 1),
        "long": lambda: np.arange(200),
    }
    for name, make in rows.items():
        yield name, lambda w, make=make: w.add_pr_curve_raw(TAG, *[make()] * 6, 1)
        if name not in ("2-d", "number", "1 element", "empty", "long"):
            yield (
                f"mixed {name}",
                lambda w, make=make: w.add_pr_curve_raw(TAG, *[[3, 2, 1]] * 4, *[make()] * 2, 1),
            )
    row = [3, 2, 1]
    yield "thresholds 3", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, 3)
    yield "thresholds 200", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, 200)
    yield "thresholds 0", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, 0)
    yield "thresholds bool", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, True)
    yield "thresholds negative", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, -3)
    yield "thresholds tensor", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, torch.tensor(3))
    yield "thresholds float", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, 3.0)
    yield "thresholds None", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, None)
    yield "positional", lambda w: w.add_pr_curve_raw(TAG, *[row] * 6, 1, 3, "weights", 2.0)
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_pr_curve_raw(make(), *[row] * 6, 1)


def chart_calls() -> Iterator[tuple[str, Call]]:
    tags: Mapping[str, Callable[[], Any]] = {
        "list": lambda: ["a", "b", "c"],
        "tuple": lambda: ("a", "b", "c"),
        "array": lambda: np.array(["a", "b", "c"]),
        "generator": lambda: iter(["a", "b", "c"]),
        "dict": lambda: dict.fromkeys("abc"),
        "empty": list,
        "text": lambda: "abc",
        "bytes": lambda: [b"a", b"b", b"c"],
        "ints": lambda: [1, 2, 3],
        "None": lambda: None,
        "with None": lambda: ["a", None, "c"],
        "enum of text": lambda: [TextTag.LOSS, "b", "c"],
        "two": lambda: ["a", "b"],
    }
    for name, make in tags.items():
        yield f"line {name}", lambda w, make=make: w.add_custom_scalars_multilinechart(make())
        yield f"margin {name}", lambda w, make=make: w.add_custom_scalars_marginchart(make())
        for kind in ("Multiline", "Margin"):
            yield (
                f"layout {kind} {name}",
                lambda w, make=make, kind=kind: w.add_custom_scalars({"c": {"t": [kind, make()]}}),
            )
    line = ["Multiline", ["a"]]
    layouts: Mapping[str, Callable[[], Any]] = {
        "unknown kind": lambda: {"c": {"t": ["Lines", ["a"]]}},
        "kind None": lambda: {"c": {"t": [None, ["a"]]}},
        "small letters": lambda: {"c": {"t": ["multiline", ["a"]]}},
        "margin in small letters": lambda: {"c": {"t": ["margin", ["a", "b", "c"]]}},
        "tuple": lambda: {"c": {"t": ("Multiline", ("a",))}},
        "third entry": lambda: {"c": {"t": ["Multiline", ["a"], "more"]}},
        "one entry": lambda: {"c": {"t": ["Multiline"]}},
        "empty": dict,
        "empty category": lambda: {"c": {}},
        "empty names": lambda: {"": {"": line}},
        "category None": lambda: {None: {"t": line}},
        "title None": lambda: {"c": {None: line}},
        "category int": lambda: {1: {"t": line}},
        "title int": lambda: {"c": {1: line}},
        "list": lambda: [("c", {"t": line})],
        "None": lambda: None,
        "Series": lambda: pd.Series({"c": {"t": line}}),
        "two": lambda: {"c": {"t": line, "u": line}, "d": {"t": line}},
    }
    for name, make in layouts.items():
        yield f"layout {name}", lambda w, make=make: w.add_custom_scalars(make())
    yield "line by place", lambda w: w.add_custom_scalars_multilinechart(["a"], "c", "t")
    yield "line None", lambda w: w.add_custom_scalars_multilinechart(["a"], None, None)


POINTS = RNG.random((4, 3)).astype(np.float32)
SPRITES = RNG.random((4, 3, 5, 5)).astype(np.float32)


def embedding_calls() -> Iterator[tuple[str, Call]]:
    mats: Mapping[str, Callable[[], Any]] = {
        "array": lambda: POINTS,
        "float16": lambda: POINTS.astype(np.float16),
        "int": lambda: (POINTS * 10).astype(int),
        "bool": lambda: POINTS > 0.5,
        "complex": lambda: POINTS + 1j,
        "texts": lambda: (POINTS > 0.5).astype(int).astype(str),
        "words": lambda: np.array([["a", "b"]]),
        "object": lambda: POINTS.astype(object),
        "list": lambda: POINTS.tolist(),
        "list of arrays": lambda: list(POINTS),
        "list of tensors": lambda: list(torch.tensor(POINTS)),
        "tensor": lambda: torch.tensor(POINTS),
        "tensor with gradient": lambda: torch.tensor(POINTS, requires_grad=True),
        "tensor of bfloat16": lambda: torch.tensor(POINTS).to(torch.bfloat16),
        "tensor transposed": lambda: torch.tensor(POINTS).T,
        "1-d": lambda: POINTS[0],
        "3-d": lambda: POINTS[None],
        "empty": lambda: POINTS[:0],
        "no dimensions": lambda: POINTS[:, :0],
        "nan": lambda: np.where(POINTS > 0.5, np.nan, POINTS),
        "number": lambda: 1.0,
        "None": lambda: None,
        "DataFrame": lambda: pd.DataFrame(POINTS),
        "masked": lambda: np.ma.array(POINTS, mask=POINTS > 0.5),
    }
    for name, make in mats.items():
        yield f"mat {name}", lambda w, make=make: w.add_embedding(make())
    labels: Mapping[str, Callable[[], Any]] = {
        "list": lambda: ["a", "b", "c", "d"],
        "tuple": lambda: ("a", "b", "c", "d"),
        "text": lambda: "abcd",
        "bytes": lambda: b"abcd",
        "ints": lambda: [1, 2, 3, 4],
        "mixed": lambda: [1, None, "c", 0.5],
        "array": lambda: np.array([1, 2, 3, 4]),
        "tensor": lambda: torch.tensor([1, 2, 3, 4]),
        "tensor with gradient": lambda: torch.tensor([1.0, 2, 3, 4], requires_grad=True),
        "list of tensors": lambda: list(torch.tensor([1, 2, 3, 4])),
        "range": lambda: range(4),
        "dict": lambda: dict.fromkeys("abcd"),
        "Series": lambda: pd.Series(list("abcd")),
        "too few": lambda: ["a", "b"],
        "too many": lambda: list("abcde"),
        "generator": lambda: iter("abcd"),
        "newlines": lambda: ["a\nb", "c\td", "e", "f"],
        "rows": lambda: [["a", 1], ["b", 2], ["c", 3], ["d", 4]],
        "number": lambda: 5,
        "empty texts": lambda: ["", "", "", ""],
        "half a surrogate pair": lambda: ["\ud800", "b", "c", "d"],
    }
    for name, make in labels.items():
        yield f"metadata {name}", lambda w, make=make: w.add_embedding(POINTS, make())
    rows: Mapping[str, tuple[Callable[[], Any], Any]] = {
        "two columns": (lambda: [["a", 1], ["b", 2], ["c", 3], ["d", 4]], ["x", "y"]),
        "tuple": (lambda: [("a", 1), ("b", 2), ("c", 3), ("d", 4)], ("x", "y")),
        "one column": (lambda: [["a"], ["b"], ["c"], ["d"]], ["x"]),
        "texts as rows": (lambda: ["ab", "cd", "ef", "gh"], ["x", "y"]),
        "ragged": (lambda: [["a", 1], ["b"], ["c", 3, 4], ["d", 4]], ["x", "y"]),
        "too few names": (lambda: [["a", 1], ["b", 2], ["c", 3], ["d", 4]], ["x"]),
        "text as names": (lambda: [["a", 1], ["b", 2], ["c", 3], ["d", 4]], "xy"),
        "no names": (lambda: ["a", "b", "c", "d"], []),
        "array": (lambda: np.array([["a", "1"]] * 4), ["x", "y"]),
        "names without labels": (lambda: None, ["x", "y"]),
        "names of ints": (lambda: [["a", 1], ["b", 2], ["c", 3], ["d", 4]], [1, 2]),
    }
    for name, (make, header) in rows.items():
        yield (
            f"header {name}",
            lambda w, make=make, header=header: w.add_embedding(
                POINTS, make(), metadata_header=header
            ),
        )
    pictures: Mapping[str, Callable[[], Any]] = {
        "tensor": lambda: torch.tensor(SPRITES),
        "array": lambda: SPRITES,
        "gray": lambda: torch.tensor(SPRITES[:, :1]),
        "2 channels": lambda: torch.tensor(SPRITES[:, :2]),
        "4 channels": lambda: torch.rand(4, 4, 5, 5),
        "not square": lambda: torch.tensor(SPRITES[:, :, :3]),
        "with gradient": lambda: torch.tensor(SPRITES, requires_grad=True),
        "bytes": lambda: torch.tensor((SPRITES * 255).astype(np.uint8)),
        "bool": lambda: torch.tensor(SPRITES > 0.5),
        "int64": lambda: torch.tensor((SPRITES > 0.5).astype(np.int64)),
        "float64": lambda: torch.tensor(SPRITES, dtype=torch.float64),
        "bfloat16": lambda: torch.tensor(SPRITES).to(torch.bfloat16),
        "beyond 1": lambda: torch.tensor(SPRITES * 3 - 1),
        "list": lambda: SPRITES.tolist(),
        "too few": lambda: torch.tensor(SPRITES[:3]),
        "3-d": lambda: torch.tensor(SPRITES[:, 0]),
        "channels last": lambda: torch.tensor(SPRITES.transpose(0, 2, 3, 1)),
    }
    for name, make in pictures.items():
        yield f"label_img {name}", lambda w, make=make: w.add_embedding(POINTS, None, make())
    steps = ("fraction", "text", "tensor", "None", "negative", "word", "np.int32", "nan", "bool")
    for name in steps:
        make = STEPS[name]
        yield f"step {name}", lambda w, make=make: w.add_embedding(POINTS, global_step=make())
    for name, make in TAGS.items():
        if name not in ("long", "nul", "dots"):  # also used as a folder's name
            yield f"tag {name}", lambda w, make=make: w.add_embedding(POINTS, tag=make())
    yield "positional", lambda w: w.add_embedding(POINTS, None, None, 3, "t", None)


MESH = RNG.random((1, 4, 3)).astype(np.float32)
FACES = np.array([[[0, 1, 2], [1, 2, 3]]])


def mesh_calls() -> Iterator[tuple[str, Call]]:
    vertices: Mapping[str, Callable[[], Any]] = {
        "array": lambda: MESH,
        "float64": lambda: MESH.astype(np.float64),
        "float16": lambda: MESH.astype(np.float16),
        "int": lambda: (MESH * 10).astype(int),
        "bool": lambda: MESH > 0.5,
        "list": lambda: MESH.tolist(),
        "tuple": lambda: tuple(map(tuple, MESH[0].tolist())),
        "list of arrays": lambda: list(MESH),
        "list of tensors": lambda: list(torch.tensor(MESH)),
        "tensor": lambda: torch.tensor(MESH),
        "tensor with gradient": lambda: torch.tensor(MESH, requires_grad=True),
        "tensor of bfloat16": lambda: torch.tensor(MESH).to(torch.bfloat16),
        "2-d": lambda: MESH[0],
        "4-d": lambda: MESH[None],
        "2 coordinates": lambda: MESH[:, :, :2],
        "4 coordinates": lambda: np.ones((1, 4, 4)),
        "none": lambda: MESH[:, :0],
        "no mesh": lambda: MESH[:0],
        "nan": lambda: MESH * np.nan,
        "complex": lambda: MESH + 1j,
        "texts": lambda: MESH.astype(str),
        "object": lambda: MESH.astype(object),
        "None": lambda: None,
        "number": lambda: 1.0,
        "masked": lambda: np.ma.array(MESH, mask=MESH > 0.5),
    }
    for name, make in vertices.items():
        yield f"vertices {name}", lambda w, make=make: w.add_mesh(TAG, make(), global_step=1)
    colors: Mapping[str, Callable[[], Any]] = {
        "bytes": lambda: (MESH * 255).astype(np.uint8),
        "floats": lambda: MESH,
        "tensor": lambda: torch.tensor(MESH * 255),
        "list": lambda: (MESH * 255).tolist(),
        "one for all": lambda: MESH[:, :1],
        "4 channels": lambda: np.ones((1, 4, 4)),
        "2-d": lambda: MESH[0],
    }
    for name, make in colors.items():
        yield f"colors {name}", lambda w, make=make: w.add_mesh(TAG, MESH, make(), global_step=1)
    faces: Mapping[str, Callable[[], Any]] = {
        "int64": lambda: FACES,
        "int32": lambda: FACES.astype(np.int32),
        "uint8": lambda: FACES.astype(np.uint8),
        "float": lambda: FACES.astype(float),
        "tensor": lambda: torch.tensor(FACES),
        "list": lambda: FACES.tolist(),
        "out of range": lambda: FACES + 100,
        "4 corners": lambda: np.array([[[0, 1, 2, 3]]]),
        "2-d": lambda: FACES[0],
    }
    for name, make in faces.items():
        yield (
            f"faces {name}",
            lambda w, make=make: w.add_mesh(TAG, MESH, faces=make(), global_step=1),
        )
    configs: Mapping[str, Any] = {
        "dict": {"camera": {"cls": "PerspectiveCamera", "fov": 75}},
        "empty": {},
        "list": [1, 2],
        "text": "text",
        "object": {"a": object()},
        "nan": {"a": float("nan")},
        "keys of two types": {"a": 1, 2: 3},
    }
    for name, config in configs.items():
        yield (
            f"config {name}",
            lambda w, config=config: w.add_mesh(TAG, MESH, config_dict=config, global_step=1),
        )
    yield "positional", lambda w: w.add_mesh(TAG, MESH, None, FACES, None, 1, 2.0)
    for name in ("fraction", "text", "tensor", "nan"):
        make = STEPS[name]
        yield f"step {name}", lambda w, make=make: w.add_mesh(TAG, MESH, global_step=make())
    for name, make in TAGS.items():
        yield f"tag {name}", lambda w, make=make: w.add_mesh(make(), MESH, global_step=1)


TABLES: dict[str, Callable[[], Iterator[tuple[str, Call]]]] = {
    "scalar": scalar_calls,
    "scalars": scalars_calls,
    "histogram": histogram_calls,
    "histogram_raw": histogram_raw_calls,
    "tensor": tensor_calls,
    "image": image_calls,
    "images": images_calls,
    "boxes": boxes_calls,
    "figure": figure_calls,
    "video": video_calls,
    "audio": audio_calls,
    "text": text_calls,
    "pr_curve": pr_curve_calls,
    "pr_curve_raw": pr_curve_raw_calls,
    "chart": chart_calls,
    "embedding": embedding_calls,
    "mesh": mesh_calls,
}
CALLS: dict[str, Call] = {
    f"{method}: {name}": call for method, table in TABLES.items() for name, call in table()
}
