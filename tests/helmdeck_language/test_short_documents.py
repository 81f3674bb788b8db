"""Requests beside short pasted texts, of 100 characters and more, in many forms."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_language.request import cues
from helmdeck_language.request.reading import read
from helmdeck_language.request.sentences import NEW_LINE, NEW_PARAGRAPH, SAME_LINE, sentences
from helmdeck_language.request.turns import turns
from tests.case_support import each_case

REQUEST = "Book a table for four at the harbour."
MAIL = (
    "From: Petra Vance <petra@vance.example>\nTo: Front desk\nSubject: Heating\nDate: Tue, 3 Mar 2026\n\n"
    "Hello, the heating is cold. Please send the fitter and call me before noon. "
    "The tenants below us have the same trouble, so ring their bell as well."
)
LOG = (
    "Mar 03 10:21:55 mill relay[22]: starting\nMar 03 10:21:57 mill relay[22]: cannot open the spool\n"
    "Mar 03 10:21:58 mill relay[22]: please delete the lock\nMar 03 10:22:01 mill relay[22]: stopped"
)
CODE = (
    "def send(to, text):\n    # TODO: delete old messages\n    if not to:\n        raise ValueError('choose a receiver')\n"
    "    print(to, text)\n    return True\n\n\ndef clear(rows):\n    # FIXME: ask Lou about negative counts\n    rows.clear()\n"
)
NOTICE = (
    "Der Aufzug ist vom 9. bis zum 12. März außer Betrieb. Bitte benutzen Sie die hintere Treppe und halten Sie die Türen geschlossen. "
    "Pakete gehen an den Laden im Erdgeschoss."
)


def relevance(terms: Sequence[str]) -> float:
    """Return how well terms match a catalog that books tables."""
    return float(len({"book", "tabl"}.intersection(terms)))


def asking(text: str) -> str:
    return " ".join(read(text, relevance=relevance).asking)


@each_case("document", [MAIL, LOG, CODE, NOTICE])
def test_a_document_of_less_than_400_characters_is_separated_from_the_request(document: str) -> None:
    assert len(f"{REQUEST}\n\n{document}") < 400
    assert asking(f"{REQUEST}\n\n{document}") == REQUEST
    assert asking(f"{document}\n\n{REQUEST}") == REQUEST


@each_case(
    "request_text",
    [
        "Create a folder called winter-2027 in /photos.", "Leg einen Ordner namens Steuer-2026 an.", "Crea una cartella chiamata ricevute.",
        "Utwórz folder o nazwie faktury.", "Maak een map met de naam bonnetjes.", "Создай папку с названием чеки.",
        "Cria uma pasta chamada recibos.",
    ],
)  # fmt: skip
def test_requests_of_many_languages_are_commands(request_text: str) -> None:
    flags, _, _ = cues.features(sentences(request_text)[0])
    assert flags & cues.ASKING


def test_three_sentences_of_one_request_remain_one_request() -> None:
    text = (
        "We have guests at the weekend and nothing is ready yet. There are seven of them, and two do not eat meat. "
        "Order a vegetable box for Friday, please, and put the delivery into my calendar. The fridge is nearly empty."
    )
    assert len(text) > 200
    assert read(text).document == ""


@each_case("line_end", ["\r\n", "\r", "\u2028"])
def test_line_ends_of_other_systems_separate_lines_and_paragraphs(line_end: str) -> None:
    found = sentences("one\ntwo\n\nthree".replace("\n", line_end))
    assert [(each.text, each.gap) for each in found] == [
        ("one", SAME_LINE), ("two", NEW_LINE), ("three", NEW_PARAGRAPH),
    ]  # fmt: skip
    assert asking(f"{MAIL}\n\n{REQUEST}".replace("\n", line_end)) == REQUEST


@each_case("mark", ["?", "!", ";", "\uff1f", "\uff1b"])
def test_sentence_without_a_space_behind_its_mark_ends_before_a_chinese_one(mark: str) -> None:
    texts = [each.text for each in sentences(f"几点了{mark}开灯")]
    assert texts == [f"几点了{mark}", "开灯"]
    assert len(sentences(f"GET /a{mark}b=c")) == 1 + (mark == "\uff1f")


@each_case(
    ("text", "indented"),
    [("one\n  two\nthree\n\tfour five. six", [False, True, False, True, False]), ("  one\ntwo", [False, False])],
)
def test_only_the_start_of_an_indented_line_is_indented(text: str, indented: list[bool]) -> None:
    assert [each.is_indented for each in sentences(text)] == indented


@each_case(
    ("line", "opens"),
    [
        ("From: ann@example.org", True), ("Objet : Rideaux", True), ("```python", True), ("Traceback (most recent call last):", True),
        ("diff --git a/x b/x", True), ("件名：注文", True), ("Note: it is urgent", False), ("From Monday on: no mails", False),
        ("Send this to: Ann", False), ("- buy milk", False),
    ],
)  # fmt: skip
def test_first_lines_of_documents_are_known(line: str, opens: bool) -> None:
    assert bool(cues.features(sentences(line)[0])[0] & cues.OPENS) is opens


@each_case(
    "text",
    [
        "[Jiwoo] [7:02 PM] who comes?\n[Minseok] [7:05 PM] me\n[Hana] [7:15 PM] book it",
        "Vera, [10.02.2026 20:15]\nwho drives?\n\nGleb, [10.02.2026 20:17]\nme\n\nNina, [10.02.2026 20:18]\nbring coal",
        "NORA. Close the door.\nBRAM. Where is the key?\nNORA. Gone.\nBRAM. Call them back.",
        LOG,
        "### Human:\nwrite a haiku\n### Assistant:\nPuddles hold the light\n### Human:\nshorter\n### Assistant:\nLight",
    ],
)
def test_turns_of_exports_plays_and_logs_are_found(text: str) -> None:
    found = sentences(text)
    assert turns(found).inside >= set(range(len(found) - 1)) and not turns(found).outside


def test_boxes_of_a_list_are_not_names_of_speakers() -> None:
    assert not turns(sentences("[x] call Ann\n[ ] buy milk\n[x] mail Bo\n[ ] sell the sofa")).inside
