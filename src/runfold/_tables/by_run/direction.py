"""Whether higher or lower is better for a tag: set by the caller, or guessed from its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from runfold._humanize import not_one_of
from runfold.errors import CannotFold

HIGHER, LOWER = "higher", "lower"
Better = Literal["higher", "lower"]

_LOWER_WORDS = re.compile(
    "loss(es)?|err(ors?)?|mae|mse|rmse|mape|bce|nll|nelbo|perplexity|ppl|wer|cer|fid|kl|bpd"
    "|latency|time|duration|seconds|regret|cost"
)
_HIGHER_WORDS = re.compile(
    "acc|accuracy|rew|rewards?|returns?|scores?|f1|auc|auroc|m?iou|dice|bleu|rouge|success"
    "|precision|recall|map[0-9]*|psnr|ssim|r2|elbo|elo|top1|top5|wins?|throughput|fps|sps"
)


@dataclass(frozen=True, slots=True)
class Direction:
    """Whether "higher" or "lower" is better for a tag; None if unknown."""

    tag: str
    better: Better | None
    is_guessed: bool = False

    @property
    def sign(self) -> int:
        """The factor that makes higher scores better; 1 if the direction is unknown."""
        return -1 if self.better == LOWER else 1


def find_direction(tag: str, better: Better | None = None) -> Direction:
    """Return the given direction, or guess it from the words of the tag's name.

    The last known word decides: lower is better for `reward_loss` and `rewardLoss`.
    Raises CannotFold if `better` is invalid.
    """
    if better is not None:
        if better not in (HIGHER, LOWER):
            raise CannotFold(not_one_of("better", better, (HIGHER, LOWER)))
        return Direction(tag, better)
    words = re.sub(r"([a-z])(?=[A-Z][a-z])", r"\1_", tag).lower()
    for word in reversed(re.split(r"[^0-9a-z]+", words)):
        if _LOWER_WORDS.fullmatch(word):
            return Direction(tag, "lower", is_guessed=True)
        if _HIGHER_WORDS.fullmatch(word):
            return Direction(tag, "higher", is_guessed=True)
    return Direction(tag, None)
