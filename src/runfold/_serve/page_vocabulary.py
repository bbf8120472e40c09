"""Names and types shared by the server and the page. The TypeScript is generated from here.

`web/generate.py` writes web/src/generated/ from this module and from the request and
response types of the endpoints. The generator runs wherever the page is built, so this
module must not import anything that needs more than NumPy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from runfold._compare.score_kinds import KINDS
from runfold._conventions import STORY_PREFIX, SYSTEM_PREFIX
from runfold._reduce.axes import ALIGNMENTS, AXES, AXIS_NAMES
from runfold._reduce.statistics import BAND_LABELS, CENTER_LABELS, list_centers_for
from runfold._tables.by_run.column_statistics import STATISTICS
from runfold._tables.by_run.direction import HIGHER, LOWER

# For each tab, web/src/app.tsx has a component, and report/view_requests.py lists the
# requests to record in a report.
TABS = (
    *("runs", "curves", "images", "audio", "text", "histograms", "more"),
    *("hparams", "compare", "run", "sql", "boards"),
)
CENTERS = CENTER_LABELS
BANDS = BAND_LABELS
BANDS_AROUND = {
    center: [band for band in BANDS if center in list_centers_for(band)] for center in CENTERS
}
BETTER = (LOWER, HIGHER)
COMPARED_AT = tuple(KINDS)
# The importance of an hparam for the best step would be meaningless.
METRIC_STATISTICS = tuple(name for name in STATISTICS if name != "best_step")
# The statistics that the page loads for every tag.
TABLE_STATISTICS = ("last", "min", "max")
BLOB_KINDS = ("image", "audio", "boxes")
# Prefixes of the tags that a tracked run records about itself and its machine.
OWN_PREFIXES = (STORY_PREFIX, SYSTEM_PREFIX)
# Matches the tag by which people are most likely to compare runs.
METRIC = "val.*(acc|loss|return)"
# A chart's recorded response in a report works for any width, range and smoothing.
CHART_ONLY_FIELDS = ("width", "range", "smooth")

# Constants exported to TypeScript under the same names.
LISTS = {
    "TABS": TABS,
    "AXIS_NAMES": AXIS_NAMES,
    "CENTERS": CENTERS,
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

# Literal types that msgspec validates. Type checkers do not accept computed literals.
if TYPE_CHECKING:
    from runfold._tables.by_run.direction import Better as Better

    Tab: TypeAlias = str
    AxisName: TypeAlias = str
    Center: TypeAlias = str
    Band: TypeAlias = str
    Alignment: TypeAlias = str
    ComparedAt: TypeAlias = str
    Statistic: TypeAlias = str
    MetricStatistic: TypeAlias = str
    BlobKind: TypeAlias = str
else:
    Tab = Literal[TABS]
    AxisName = Literal[AXES]
    Center = Literal[tuple(CENTERS)]
    Band = Literal[tuple(BANDS)]
    Alignment = Literal[ALIGNMENTS]
    Better = Literal[BETTER]
    ComparedAt = Literal[COMPARED_AT]
    Statistic = Literal[STATISTICS]
    MetricStatistic = Literal[METRIC_STATISTICS]
    BlobKind = Literal[BLOB_KINDS]

# JSON values. A number becomes a string if it is not finite, or if it is an integer
# that a browser would round.
Json: TypeAlias = Any
Step: TypeAlias = int
JsonNumber: TypeAlias = float


class AxisTag(TypedDict):
    """Another tag as the x-axis."""

    tag: str


class Turn(TypedDict):
    """The camera angle on a mesh: around the vertical axis, then up or down, in radians."""

    around: float
    up: float
    zoom: float


@dataclass(frozen=True)
class ViewFields:
    """The parts of a view that decide which data the page requests, as stored in its URL.

    Attributes:
        where: a condition, as in `runs.where`.
        off: deselected runs among those that match the filters.
        on: selected runs, used instead of `off` if they are fewer; runs that appear later are
            deselected.
        by: how to group runs: a column, "parent", or a pattern with named groups.
        tags: tags to show, as text or a regular expression.
        full: the chart that fills the page, or the tag of a view that shows a single tag.
        together: tags that share one chart.
        part: the open section of the "more" tab.
    """

    tab: Tab = "curves"
    search: str = ""
    where: str = ""
    off: tuple[str, ...] = ()
    on: tuple[str, ...] | None = None
    by: str = ""
    tags: str = ""
    is_folded: bool = False
    center: Center = "mean"
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
    """The parts of a view that only affect how the page displays it.

    Attributes:
        shut: collapsed groups in the list of runs.
        painted: colors chosen by hand, by run or group.
        range: visible range of the x-axis.
        turn: camera angle for meshes.
        labels_off: hidden box labels.
        size: image width.
        is_bands: show histograms as quantile bands.
        is_plain: show text without formatting.
        is_drawn: show a query result as a chart.
        is_all: also show values that two compared runs have in common.
        board, dashboard: the open TensorBoard, and the dashboard it was opened at.
    """

    shut: tuple[str, ...] = ()
    colors: Literal["run", "group"] = "run"
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
    """Return the name of a field in the page and its URL: `is_log_x` becomes `isLogX`."""
    return re.sub("_(.)", lambda match: match[1].upper(), name)
