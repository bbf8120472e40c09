"""Figures as files: PNG, SVG, PDF."""

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.plot_folds import seeds
from matplotlib.figure import Figure
from PIL import Image

from runfold._plot.figure import plot_folded, save_figure
from runfold.errors import OutputExists, UnknownFormat


@pytest.fixture(scope="module")
def figure() -> Figure:
    return plot_folded(seeds("a", "b"))


def test_png_has_the_size_in_inches(figure: Figure, tmp_path: Path) -> None:
    save_figure(figure, tmp_path / "a.png", dpi=200)
    with Image.open(tmp_path / "a.png") as image:
        assert (image.format, image.size) == ("PNG", (700, 520))
        image.load()
        assert image.convert("L").getextrema() == (0, 255)


def test_svg_is_xml_with_text_as_paths(figure: Figure, tmp_path: Path) -> None:
    save_figure(figure, tmp_path / "a.SVG")
    root = ElementTree.parse(tmp_path / "a.SVG").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("width") == "252pt"
    assert not list(root.iter("{http://www.w3.org/2000/svg}text"))


def test_pdf_has_truetype_fonts_and_no_picture(figure: Figure, tmp_path: Path) -> None:
    save_figure(figure, tmp_path / "a.pdf")
    data = (tmp_path / "a.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"/Subtype /Image" not in data


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_saving_twice_gives_the_same_file(kind: str) -> None:
    def save() -> bytes:
        file = io.BytesIO()
        plot_folded(seeds("a", "b")).savefig(file, format=kind)
        return file.getvalue()

    first = save()
    assert first == save()
    assert b"CreationDate" not in first


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.pgn", "'pgn'. Did you mean 'jpg', 'pgf' or 'png'?"),
        ("a", "''. Use .png, .svg or .pdf."),
        ("a.csv", "'csv'"),
    ],
)
def test_unknown_suffix_is_rejected_with_near_matches(
    name: str, message: str, figure: Figure, tmp_path: Path
) -> None:
    with pytest.raises(UnknownFormat) as caught:
        save_figure(figure, tmp_path / name)
    assert f"{name}: unknown picture format {message}" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(57)
def test_existing_file_is_replaced_only_with_overwrite(figure: Figure, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_text("mine")
    with pytest.raises(OutputExists, match=r"a\.png already exists"):
        save_figure(figure, path)
    assert path.read_text() == "mine"
    save_figure(figure, path, overwrite=True)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.fault(58)
def test_figure_that_cannot_be_drawn_leaves_no_file(tmp_path: Path) -> None:
    broken = plot_folded(seeds())
    broken.axes[0].set_title("$x_{$")  # matplotlib treats it as a formula
    with pytest.raises(ValueError, match="Expected"):
        save_figure(broken, tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []
