"""The pipeline ``doc-to-slides`` of the example catalog, from a PDF to a file that opens."""

import json
import shutil
from pathlib import Path

import pytest
from pptx import Presentation

import helmdeck_pack_documents
import helmdeck_pack_slides
from helmdeck_testing import scripted_provider

PDF = Path(__file__).with_name("data") / "tides.pdf"
SLIDES = [{"message": f"Message {name}.", "bullets": ["7.4 m at Brest"], "notes": "Say it."} for name in "abc"]
ANSWER = json.dumps({"title": "Three ports", "slides": SLIDES})


@pytest.fixture
def slides_of(deck_with, tmp_path):
    """Run the pipeline, and return the slides of its file."""

    def run(model, *plugins):
        shutil.copy(PDF, tmp_path / "report.pdf")
        config = {
            "model": model,
            "packs": {"artifacts": str(tmp_path / "out"), "options": {"doc": {"root": str(tmp_path)}}},
            "runs": {"url": f"sqlite:{tmp_path}/runs.db"},
        }
        deck = deck_with(helmdeck_pack_documents, helmdeck_pack_slides, *plugins, config=config)
        assert deck.can_run("doc-to-slides")
        output = deck.run("doc-to-slides", {"path": "report.pdf", "slides": 3})
        return list(Presentation(output["outputs"]["deck"]).slides)

    return run


def tables(slides):
    return [
        [cell.text for cell in shape.table.rows[1].cells]
        for slide in slides
        for shape in slide.shapes
        if shape.has_table
    ]


def test_pdf_becomes_a_deck_without_a_model(slides_of):
    slides = slides_of("local/lexical")
    titles = [slide.shapes.title.text for slide in slides]
    assert titles[0] == "Tides of the Atlantic" and titles[-1] == "Heights at three ports"
    assert len(slides) == 1 + 3 + 1  # the cover, three slides, the table
    assert tables(slides) == [["Brest", "France", "7.4", "3.1"]]


def test_outline_of_a_model_becomes_the_deck(slides_of):
    slides = slides_of("scripted/any", scripted_provider([ANSWER]))
    assert [slide.shapes.title.text for slide in slides[:4]] == [
        "Three ports",
        "Message a.",
        "Message b.",
        "Message c.",
    ]
    assert slides[1].notes_slide.notes_text_frame.text == "Say it."
    assert tables(slides) == [["Brest", "France", "7.4", "3.1"]]
