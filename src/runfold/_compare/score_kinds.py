"""The values of a run that can be compared, and what they are in words."""

KINDS = {
    "last": "last value",
    "best": "best value",
    "min": "smallest value",
    "max": "largest value",
    "auc": "area under the curve",
}
