"""The kinds of data: one declaration per kind here, one module per kind next to it.

A module's `decode` takes the bytes of one stored value and raises ValueError, with
the reason in a sentence, if that value must be skipped and reported. Where a kind is
also stored outside of summary values, `decode_value` is for summary values; where it
is decoded only when someone looks, `locate` finds its content.

To add a kind: declare it in KINDS, write its module, and add the method that returns
its table to `_tables.frames.frame_methods`. What the declaration cannot say is in one
table per consumer, under the name of the kind: `_tables.frames.decoded_values`
(decode), `_tables.frames.kind_frames` (columns), `_cli.render` (terminal).

Modules:

    stored_value  one stored Summary.Value, its form and where its content is
    histogram     histograms
    image         images, decoded when someone looks
    audio         clips, decoded when someone listens
    text          texts
    tensor        tensors that no plugin gives a meaning
    hparams       hyperparameters and sessions
    pr_curve      precision-recall curves
    mesh          meshes and point clouds
    graph         graphs of models
    run_metadata  what TensorFlow recorded of one execution
    embedding     embeddings of the projector
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
    """What every part of Runfold needs to know about a kind.

    Attributes:
        name: what users call it.
        plural: the name of its table, and so of files, sheets and the method of `Runs`.
        plugins: the plugins whose tensors are of this kind.
        forms: the forms of stored values that are of this kind, whatever their plugin.
        columns: the columns of its table, which are attributes of a decoded value.
        value_column: instead of these, the one column that holds the decoded value.
        tables: further tables that its values give, by the names that `export` takes.
        follows: the kind that its values belong to; they are hidden with them.
        has_tags: whether its table has a row per tag and step.
        has_own_column: whether a table of runs shows its values, not how many there are.
        is_in_event_files: whether its values are in event files.
        is_stepless: whether it describes the run and not a step. A restart does not hide
            it, and rules for steps leave it as it is.
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
        """Whether an event may hold it outside of its summary."""
        return any(form > Form.TENSOR for form in self.forms)

    @property
    def module(self) -> ModuleType:
        """The module that decodes it, imported on first use."""
        return import_module(f"{__name__}.{self.name}")


SCALAR, TENSOR = "scalar", "tensor"
# Values whose content only their plugin can read: they are listed, and never decoded.
UNKNOWN = "unknown"

# In the order in which listings and exports show them.
KINDS = {
    kind.name: kind
    for kind in (
        Kind(SCALAR, "scalars", ("scalars",), (Form.SCALAR,), has_own_column=True),
        Kind("histogram", "histograms", ("histograms",), (Form.HISTOGRAM,)),
        Kind("image", "images", ("images",), (Form.IMAGE,), has_own_column=True),
        Kind("audio", "audio", ("audio",), (Form.AUDIO,)),
        Kind("text", "text", ("text",), value_column="text", has_own_column=True),
        # Also every tensor whose plugin no kind names. The plugin is that of torch's
        # add_tensor; TensorBoard has no such plugin.
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
        # In files of their own, which a projector configuration names.
        Kind("embedding", "embeddings", is_in_event_files=False),
        Kind("layout", "layouts", ("custom_scalars",), value_column="layout", is_stepless=True),
        Kind("boxes", "boxes", ("runfold_boxes",), follows="image"),
    )
}

# The table of each name that `export` takes.
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
    # A tensor of many numbers under the scalars plugin is not a scalar.
    return TENSOR if kind == SCALAR and form != Form.SCALAR else kind
