"""``chart.plot`` with matplotlib: the picture is read back."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

import helmdeck_pack_charts
from helmdeck_core import PackError, PackErrorCode
from helmdeck_pack_charts.plot import NAME

SVG = "{http://www.w3.org/2000/svg}"
PORTS = [["Port", "Spring (m)", "Neap (m)"], ["Brest", "7.4", 3.1], ["Cork", 4.1, None]]


@pytest.fixture
def plot(deck_with, tmp_path):
    deck = deck_with(helmdeck_pack_charts, config={"packs": {"artifacts": str(tmp_path / "out")}})
    return lambda rows, kind="bar", **options: deck.run(NAME, {"rows": rows, "kind": kind, **options})


def texts(output):
    root = ElementTree.fromstring(Path(output["image"]).read_text())
    return ["".join(each.itertext()).strip() for each in root.iter(f"{SVG}text")]


def test_chart_has_title_axes_unit_labels_and_legend(plot):
    found = texts(plot(PORTS, title="Tides"))
    assert {"Tides", "Port", "m", "Brest", "Cork", "Spring (m)", "Neap (m)"} <= set(found)
    output = plot(PORTS, "line", x_label="Harbour", y_label="Height (m)")
    assert {"Harbour", "Height (m)", "Spring (m), Neap (m) by Port"} <= set(texts(output))
    assert {"#0072b2", "#d55e00"} <= set(re.findall("#[0-9a-f]{6}", Path(output["image"]).read_text().lower()))


@pytest.mark.parametrize("kind", ["line", "bar", "scatter"])
def test_png_has_the_reported_size(plot, kind):
    output = plot([{"year": 2020 + n, "cost ($)": n * 1.5, "note": "x"} for n in range(5)], kind, format="png")
    with Image.open(output["image"]) as image:
        assert (image.format, *image.size) == ("PNG", output["width"], output["height"])
        assert len(image.convert("RGB").getcolors(100_000)) > 20
    assert output["artifacts"][0]["media_type"] == "image/png"


def test_texts_are_escaped_and_the_same_rows_give_the_same_bytes(plot):
    rows = [["<script>", "$x_{$"], ["</text>\0", 1]]
    one, two = plot(rows), plot(rows)
    assert Path(one["image"]).read_bytes() == Path(two["image"]).read_bytes()
    assert {"<script>", "$x_{$", "</text>"} <= set(texts(one))


def test_character_without_a_font_is_a_finding(plot):
    output = plot([["x", "\U000f1234"], ["a", 1]], format="png")
    assert output["findings"] == ["no installed font has \U000f1234; fonts-noto-cjk has many"]


@pytest.mark.parametrize(
    ("rows", "detail"),
    [
        ([], "neither a list of objects"),
        ([["a", "b"], ["x", "n/a"]], "no column after the first one has numbers only"),
        ([["x", "y"], [1, 1e300]], "no column after the first one has numbers only"),
        ([["x", *"abcdefghi"], [0, *range(9)]], "9 columns of numbers; at most 8"),
        ([[0, 1]] * 5_001, "5,001 rows; at most 5,000"),
    ],
)
def test_rows_that_cannot_be_drawn_are_invalid_input(plot, rows, detail):
    with pytest.raises(PackError, match=detail) as failed:
        plot(rows)
    assert failed.value.code is PackErrorCode.INVALID_INPUT
