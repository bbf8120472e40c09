"""One module for each kind of data: stored values in, rows with named fields out.

A module's `decode` takes the bytes of one stored value and raises ValueError,
with the fact in a sentence, when that point must be skipped and noted.
"""

KINDS = (
    "scalar",
    "histogram",
    "image",
    "audio",
    "text",
    "tensor",
    "hparams",
    "pr_curve",
    "mesh",
    "graph",
    "run_metadata",
    "embedding",
    "layout",
    "boxes",
)

# Values whose content only their plugin can read: they are listed, and never decoded.
UNKNOWN = "unknown"

# A tensor under a plugin that is not named here is of the kind "tensor".
PLUGIN_KINDS = {
    "scalars": "scalar",
    "histograms": "histogram",
    "images": "image",
    "audio": "audio",
    "text": "text",
    "hparams": "hparams",
    "pr_curves": "pr_curve",
    "mesh": "mesh",
    "custom_scalars": "layout",
    "graphs": "graph",
    "graph_keras_model": "graph",
    "graph_run_metadata": "run_metadata",
    "graph_run_metadata_graph": "run_metadata",
    "graph_tagged_run_metadata": "run_metadata",
    "runfold_boxes": "boxes",
}
