"""The words that the server and its page share. Python has them; TypeScript is made from them.

`web/generate.py` writes web/src/generated/ from this module and from the request and
response types of the endpoints. It runs wherever the page is built, so this module
imports nothing that needs more than NumPy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from runfold._compare.score_kinds import KINDS
from runfold._conventions import STORY_PREFIX, SYSTEM_PREFIX
from runfold._reduce.align import ALIGNMENTS
from runfold._reduce.axes import AXES, AXIS_NAMES
from runfold._reduce.statistics import BAND_LABELS, CENTRE_LABELS, list_centres_for
from runfold._tables.by_run.column_statistics import STATISTICS
from runfold._tables.by_run.direction import HIGHER, LOWER

# Every one has a component in web/src/app.tsx, and what a report takes of it in
# report/view_requests.py.
TABS = (
    *("runs", "curves", "images", "audio", "text", "histograms", "more"),
    *("hparams", "compare", "run", "sql", "boards"),
)
CENTRES = CENTRE_LABELS
BANDS = BAND_LABELS
BANDS_AROUND = {
    centre: [band for band in BANDS if centre in list_centres_for(band)] for centre in CENTRES
}
BETTER = (LOWER, HIGHER)
COMPARED_AT = tuple(KINDS)
# Of a run's best step there is no sense in how much an hparam explains.
METRIC_STATISTICS = tuple(name for name in STATISTICS if name != "best_step")
# The statistics that the page has of every tag.
TABLE_STATISTICS = ("last", "min", "max")
BLOB_KINDS = ("image", "audio", "boxes")
# What a tracked run says of itself, and of its machine.
OWN_PREFIXES = (STORY_PREFIX, SYSTEM_PREFIX)
# Finds the tag that is most likely the metric that people compare runs by.
METRIC = "val.*(acc|loss|return)"
# One recorded answer of a chart in a report serves every width, range and smoothing.
CHART_ONLY_FIELDS = ("width", "range", "smooth")

# What TypeScript has under the same names.
LISTS = {
    "TABS": TABS,
    "AXIS_NAMES": AXIS_NAMES,
    "CENTRES": CENTRES,
    "BANDS": BANDS,
    "BANDS_AROUND": BANDS_AROUND,
    "BETTER": BETTER,
    "COMPARED_AT": COMPARED_AT,
    "TABLE_STATISTICS": TABLE_STATISTICS,
    "STORY_PREFIX": STORY_PREFIX,
    "SYSTEM_PREFIX": SYSTEM_PREFIX,
    "METRIC": METRIC,
    "CHART_ONLY_FIELDS": CHART_ONLY_FIELDS,
}

# What a request takes, as msgspec checks it; a type checker knows no literal that is computed.
if TYPE_CHECKING:
    from runfold._tables.by_run.direction import Better as Better

    Tab: TypeAlias = str
    AxisName: TypeAlias = str
    Centre: TypeAlias = str
    Band: TypeAlias = str
    Alignment: TypeAlias = str
    ComparedAt: TypeAlias = str
    Statistic: TypeAlias = str
    MetricStatistic: TypeAlias = str
    BlobKind: TypeAlias = str
else:
    Tab = Literal[TABS]
    AxisName = Literal[AXES]
    Centre = Literal[tuple(CENTRES)]
    Band = Literal[tuple(BANDS)]
    Alignment = Literal[ALIGNMENTS]
    Better = Literal[BETTER]
    ComparedAt = Literal[COMPARED_AT]
    Statistic = Literal[STATISTICS]
    MetricStatistic = Literal[METRIC_STATISTICS]
    BlobKind = Literal[BLOB_KINDS]

# In JSON: any value; and a number, which is a word where it is not finite, and the digits of a
# whole number that a browser would round.
Json: TypeAlias = Any
Step: TypeAlias = int
JsonNumber: TypeAlias = float


class AxisTag(TypedDict):
    """Another tag as the x-axis."""

    tag: str


class Turn(TypedDict):
    """From where a mesh is seen: around the upright axis, then up or down, in radians."""

    around: float
    up: float
    zoom: float


@dataclass(frozen=True)
class ViewFields:
    """What the page shows, as its address says it; what decides which data it takes.

    Attributes:
        where: a condition, as `runs.where` takes it.
        off: runs that are switched off, among those that the filters leave.
        on: those that are on, where they are fewer; a run that appears later is then off.
        by: what makes a group: a column, "parent", or a pattern with named groups.
        tags: which tags to show, as a text or a regular expression.
        full: a chart that fills the page, or the tag of a view that shows one.
        together: tags that share one chart.
        part: which part of "more" is open.
    """

    tab: Tab = "curves"
    search: str = ""
    where: str = ""
    off: tuple[str, ...] = ()
    on: tuple[str, ...] | None = None
    by: str = ""
    tags: str = ""
    is_folded: bool = False
    centre: Centre = "mean"
    band: Band = "std"
    x: AxisName | AxisTag = "step"
    smooth: float = 0
    is_log_x: bool = False
    full: str = ""
    together: tuple[str, ...] = ()
    metric: str = ""
    at: ComparedAt = "last"
    better: Better | Literal[""] = ""
    run: str = ""
    other: str = ""
    query: str = ""
    part: str = ""
    step: Step | None = None


@dataclass(frozen=True)
class Looks:
    """How the page shows it, which the page alone reads.

    Attributes:
        shut: groups of which the list of runs has only the name.
        painted: colours that were chosen by hand, by run or group.
        range: the part of the x-axis that is seen.
        turn: from where meshes are seen.
        labels_off: labels of boxes that are switched off.
        size: how wide an image is.
        is_bands: histograms as bands of quantiles.
        is_plain: text as it was written.
        is_drawn: the answer to a query as a chart.
        is_all: two runs with all that they have in common, too.
        board, dashboard: the TensorBoard that is open, and which dashboard it was opened at.
    """

    shut: tuple[str, ...] = ()
    colours: Literal["run", "group"] = "run"
    painted: dict[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    pinned: tuple[str, ...] = ()
    sort: str = ""
    is_descending: bool = False
    is_log_y: bool = False
    is_robust: bool = False
    has_marks: bool = True
    range: tuple[float, float] | None = None
    closed: tuple[str, ...] = ()
    turn: Turn = field(default_factory=lambda: Turn(around=0.6, up=0.4, zoom=1))
    layers: Literal["boxes", "masks", "both", "none"] = "both"
    threshold: float = 0
    labels_off: tuple[str, ...] = ()
    size: float = 260
    is_bands: bool = False
    is_plain: bool = False
    is_drawn: bool = False
    is_all: bool = False
    hparam: str = ""
    board: str = ""
    dashboard: str = ""


def camel(name: str) -> str:
    """The name of a field in the page and its address: `is_log_x` is `isLogX` there."""
    return re.sub("_(.)", lambda found: found[1].upper(), name)
