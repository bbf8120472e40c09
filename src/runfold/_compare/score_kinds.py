"""The values of a run that can be compared, with their descriptions."""

KINDS = {
    "last": "last value",
    "best": "best value",
    "min": "smallest value",
    "max": "largest value",
    "auc": "area under the curve",
}
