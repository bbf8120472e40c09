"""The kinds of data: all kinds are declared here, and each has its own module.

`decode` in each module takes the bytes of one stored value and raises ValueError, with
a one-sentence reason, if the value has to be skipped and reported. If a kind is also
stored outside summary values, `decode_value` decodes summary values. If values are
decoded lazily, `locate` finds their content.

To add a kind: declare it in KINDS, write its module, and add the method that returns
its table to `_tables.frames.frame_methods`. Everything else about a kind is in one
table per consumer, keyed by the kind's name: `_tables.frames.decoded_values`
(decoding), `_tables.frames.kind_frames` (columns), `_cli.render` (terminal).

Modules:

    stored_value  a stored Summary.Value: its form and the position of its content
    histogram     histograms
    image         images, decoded lazily
    audio         audio clips, decoded lazily
    text          text
    tensor        tensors that belong to no other kind
    hparams       hyperparameters and sessions
    pr_curve      precision-recall curves
    mesh          meshes and point clouds
    graph         model graphs
    run_metadata  TensorFlow's record of one execution
    embedding     embeddings for the projector
    layout        layouts of the custom scalars page
    boxes         boxes and masks on images
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from runfold._core.event import Form

if TYPE_CHECKING:
    from types import ModuleType


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of data.

    Attributes:
        name: the name shown to users.
        plural: the name of its table, of its files and sheet, and of its `Runs` method.
        plugins: the plugins whose tensors are of this kind.
        forms: the forms of stored values that are of this kind, whatever their plugin.
        columns: the columns of its table, which are attributes of a decoded value.
        value_column: the single column for the decoded value, used instead of `columns`.
        tables: further tables made from its values, by the names that `export` accepts.
        follows: the kind that its values belong to; values of both are hidden together.
        has_tags: whether its table has one row per tag and step.
        has_own_column: whether a table of runs shows its values rather than their number.
        is_in_event_files: whether its values are in event files.
        is_stepless: whether its values describe the run rather than a step. Restarts do not
            hide them, and rules for steps do not change them.
    """

    name: str
    plural: str
    plugins: tuple[str, ...] = ()
    forms: tuple[Form, ...] = ()
    columns: tuple[str, ...] = ()
    value_column: str = ""
    tables: tuple[tuple[str, str], ...] = ()
    follows: str = ""
    has_tags: bool = True
    has_own_column: bool = False
    is_in_event_files: bool = True
    is_stepless: bool = False

    @property
    def is_in_events(self) -> bool:
        """Whether an event can contain values of this kind outside its summary."""
        return any(form > Form.TENSOR for form in self.forms)

    @property
    def module(self) -> ModuleType:
        """The module that decodes this kind, imported on first use."""
        return import_module(f"{__name__}.{self.name}")


SCALAR, TENSOR = "scalar", "tensor"
# Values that only their plugin can decode: they are listed but never decoded.
UNKNOWN = "unknown"

# Listings and exports use this order.
KINDS = {
    kind.name: kind
    for kind in (
        Kind(SCALAR, "scalars", ("scalars",), (Form.SCALAR,), has_own_column=True),
        Kind("histogram", "histograms", ("histograms",), (Form.HISTOGRAM,)),
        Kind("image", "images", ("images",), (Form.IMAGE,), has_own_column=True),
        Kind("audio", "audio", ("audio",), (Form.AUDIO,)),
        Kind("text", "text", ("text",), value_column="text", has_own_column=True),
        # Also used for every tensor whose plugin belongs to no other kind. The plugin
        # name "tensor" comes from torch's add_tensor; TensorBoard has no plugin of that
        # name.
        Kind(TENSOR, "tensors", ("tensor",), value_column="value"),
        Kind(
            "hparams",
            "hparams",
            ("hparams",),
            tables=(
                ("session", "sessions"),
                ("hparam_domain", "hparam_domains"),
                ("metric", "metrics"),
            ),
            has_tags=False,
            has_own_column=True,
            is_stepless=True,
        ),
        Kind(
            "pr_curve",
            "pr_curves",
            ("pr_curves",),
            columns=(
                *("thresholds", "precision", "recall", "true_positives", "false_positives"),
                *("true_negatives", "false_negatives"),
            ),
        ),
        Kind("mesh", "meshes", ("mesh",), columns=("vertices", "faces", "colors", "config")),
        Kind(
            "graph",
            "graphs",
            ("graphs", "graph_keras_model"),
            (Form.GRAPH, Form.META_GRAPH),
            is_stepless=True,
        ),
        Kind(
            "run_metadata",
            "run_metadata",
            ("graph_run_metadata", "graph_run_metadata_graph", "graph_tagged_run_metadata"),
            (Form.RUN_METADATA,),
            value_column="metadata",
            is_stepless=True,
        ),
        # Stored in separate files, named by a projector configuration.
        Kind("embedding", "embeddings", is_in_event_files=False),
        Kind("layout", "layouts", ("custom_scalars",), value_column="layout", is_stepless=True),
        Kind("boxes", "boxes", ("runfold_boxes",), follows="image"),
    )
}

# The table for each name that `export` accepts.
TABLES = {
    name: table
    for kind in KINDS.values()
    for name, table in ((kind.name, kind.plural), *kind.tables)
}
PLUGIN_KINDS = {plugin: kind.name for kind in KINDS.values() for plugin in kind.plugins}
_FORM_KINDS = {int(form): kind.name for kind in KINDS.values() for form in kind.forms}


def kind_of(form: int, plugin: str) -> str:
    """Return the kind of a stored value by its form and its plugin."""
    kind = _FORM_KINDS.get(form) or PLUGIN_KINDS.get(plugin, TENSOR)
    # A tensor with several numbers under the scalars plugin is not a scalar.
    return TENSOR if kind == SCALAR and form != Form.SCALAR else kind
