"""Assembles texts at random: requests in many styles, alone and beside one or several documents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attrs

from benchmarks.selection.documents import Document, documents

JOINTS = ("\n\n", "\n\n", "\n", " ")
LIST_JOINTS = (" ", " ", "\n", "\n", "\n\n", "\n- ")
DOCUMENT_JOINTS = ("\n\n", "\n\n", "\n\n\n", "\n", "\n\n---\n\n")
MODES = ("alone",) * 5 + ("last",) * 7 + ("first",) * 6 + ("around",) * 2 + ("inside",) * 2 + ("between",)
# Kinds of documents that ask and command themselves, and announcements, are drawn twice as often.
FREQUENT_KINDS = frozenset(
    {document.kind for document in documents("older")}
    | {"letter", "minutes", "thread", "essay", "announcement", "paste", "questions", "xin", "jotmai"}
)
# Texts of a press, which are pasted most often.
NEWS = frozenset(
    (
        "announcement",
        "paste",
        "report",
        "blog",
        "review",
        "meldung",
        "noticia",
        "annonce",
        "xinwen",
        "oshirase",
        "khao",
        "khabar",
    )
)
# There are hundreds of transcripts; together they are a fifth of what is drawn.
TRANSCRIPT, TRANSCRIPT_WEIGHT = "transcript", 0.12
# Half as many texts again are drawn with this weight for the weights of texts with turns.
FREQUENT_TRANSCRIPTS = 1.5
FOLDS = 5
# Shares of texts.
SEVERAL_DOCUMENTS, WRITTEN_LINES, STYLED, FEW = 0.18, 0.22, 0.33, 0.25

# Characters of an excerpt and of several requests without a document; the first of short texts.
SHORTEST, LEAST_ALONE = (150, 400), (200, 400)

MARKS = (
    "{n}. ",
    "{n}) ",
    "({n}) ",
    "- ",
    "* ",
    "\u2022 ",
    "+ ",
    "- [ ] ",
    "[ ] ",
    "{a}) ",
    "{r}. ",
    "{h}:00 ",
    "Step {n}: ",
    "",
    "",
    "",
)
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
LABELS = {
    "en": ("Travel", "Office", "Home", "Monday", "Tuesday", "Friday", "First", "Later", "Urgent", "Mail", "Money", "Kids", "Next"),
    "de": ("Reise", "B\u00fcro", "Zuhause", "Montag", "Dienstag", "Zuerst", "Danach", "Dringend", "Post"),
    "fr": ("Voyage", "Bureau", "Maison", "Lundi", "Mardi", "D'abord", "Ensuite", "Urgent"),
    "es": ("Viaje", "Oficina", "Casa", "Lunes", "Martes", "Primero", "Luego", "Urgente"),
    "ja": ("\u65c5\u884c", "\u4ed5\u4e8b", "\u5bb6", "\u6708\u66dc\u65e5", "\u706b\u66dc\u65e5"),
    "zh": ("\u65c5\u884c", "\u5de5\u4f5c", "\u5bb6\u91cc", "\u661f\u671f\u4e00", "\u661f\u671f\u4e8c"),
}  # fmt: skip
OPENINGS = {
    "en": (
        "I need help with a few things:", "To do today:", "Please take care of the following.", "Here is my list for this week",
        "Hi, hope you are well. I have some favours to ask.", "hey can you do a couple of things for me", "Tasks",
        "I am quite busy at the moment and could use some support.", "Goal: have all of this done before Friday.", "# Task",
        "We have guests at the weekend and nothing is ready yet.", "ok so, several things", "Do these one after the other:",
    ),
    "de": ("Ich brauche Hilfe bei ein paar Sachen:", "Heute zu erledigen:", "Bitte der Reihe nach:", "kannst du ein paar Dinge machen"),
    "fr": ("J'ai besoin d'aide pour plusieurs choses :", "\u00c0 faire aujourd'hui :", "Voici ma liste.", "salut, tu peux faire \u00e7a pour moi"),
    "es": ("Necesito ayuda con varias cosas:", "Tareas de hoy:", "Haz esto, por favor.", "oye, tengo una lista para ti"),
    "ja": ("\u3044\u304f\u3064\u304b\u304a\u9858\u3044\u3057\u307e\u3059\u3002", "\u4eca\u65e5\u3084\u308b\u3053\u3068"),
    "zh": ("\u8bf7\u5e2e\u6211\u505a\u51e0\u4ef6\u4e8b:", "\u4eca\u5929\u8981\u529e\u7684\u4e8b"),
}  # fmt: skip
ENDINGS = {
    "en": ("Thanks!", "That's all.", "Let me know when everything is done.", "Tell me first if something is unclear.", "thx"),
    "de": ("Danke!", "Das ist alles.", "Sag mir Bescheid, wenn alles fertig ist."),
    "fr": ("Merci !", "C'est tout.", "Dis-moi quand c'est fini."),
    "es": ("\u00a1Gracias!", "Eso es todo.", "Av\u00edsame cuando termines."),
    "ja": ("\u3088\u308d\u3057\u304f\u304a\u9858\u3044\u3057\u307e\u3059\u3002",),
    "zh": ("\u8c22\u8c22!", "\u529e\u5b8c\u544a\u8bc9\u6211\u3002"),
}  # fmt: skip


@attrs.frozen
class Source:
    """Requests of one data set in one language, and the relevance to its catalog.

    :ivar lines: requests of several lines, which are not assembled from others.
    """

    name: str
    texts: tuple[str, ...]
    relevance: Any
    language: str = "en"
    lines: tuple[str, ...] = ()


def weight_of(document: Document, transcripts: float = TRANSCRIPT_WEIGHT) -> float:
    """Return how often a document is drawn, relative to others.

    :param transcripts: that of a transcript.
    """
    if document.kind == TRANSCRIPT:
        return transcripts
    return 3 if document.kind in NEWS or document.kind in FREQUENT_KINDS else 1


def fold_of(document: Document) -> int:
    """Return the fold of a document; documents that are pasted together are of one fold."""
    return sum(f"{document.language}:{document.name}".encode()) % FOLDS


def styled(rng: random.Random, texts: Sequence[str], language: str) -> str:
    """Return several requests as a list, as labelled lines, as paragraphs or without punctuation."""
    items = [" ".join(rng.choice(texts).split()) for _ in range(rng.randint(2, 8))]
    items = [item for item in items if len(item) < 300] or items[:2]
    mark = rng.choice(MARKS)
    if rng.random() < 0.4:
        items = [item.rstrip(".!\u3002 ") for item in items]
    if rng.random() < 0.2:
        items = [item.lower() for item in items]
    if rng.random() < 0.15 and language in LABELS:
        items = [f"{rng.choice(LABELS[language])}: {item}" for item in items]
    elif rng.random() < 0.1 and language in LABELS:
        items = [f"{rng.choice(('## ', '', '# '))}{rng.choice(LABELS[language])}\n{item}" for item in items]
    elif rng.random() < 0.06:
        items = [f"| {number} | {item} |" for number, item in enumerate(items, 1)]
    else:
        items = [
            mark.format(n=number, a=chr(96 + number), r=ROMAN[number - 1], h=number + 8) + item
            for number, item in enumerate(items, 1)
        ]
    text = rng.choice(("\n", "\n", "\n", "\n\n")).join(items)
    if rng.random() < 0.5 and language in OPENINGS:
        text = rng.choice(OPENINGS[language]) + rng.choice(("\n", "\n\n")) + text
    if rng.random() < 0.35 and language in ENDINGS:
        text += rng.choice(("\n", "\n\n")) + rng.choice(ENDINGS[language])
    return text


def request(rng: random.Random, source: Source, *, is_long: bool, is_short: bool = False) -> str:
    """Return one request, several in a row, or one of several lines."""
    if source.lines and rng.random() < WRITTEN_LINES:
        return shortened(rng, rng.choice(source.lines))
    if rng.random() < (STYLED if is_long else STYLED / 2):
        return styled(rng, source.texts, source.language)
    text = rng.choice(source.texts)
    if not is_long:
        if rng.random() < 0.45:
            text += rng.choice(LIST_JOINTS) + rng.choice(source.texts)
            while rng.random() < 0.5:
                text += rng.choice(LIST_JOINTS) + rng.choice(source.texts)
        return text
    joint, least = rng.choice(LIST_JOINTS), LEAST_ALONE[not is_short]
    while len(text) + sum(char > "\u2e80" for char in text) < least or rng.random() < 0.6:
        text += (joint if rng.random() < 0.7 else rng.choice(LIST_JOINTS)) + rng.choice(source.texts)
    return text


def shortened(rng: random.Random, text: str) -> str:
    """Return a request of several lines, in half of the cases without some of its lines."""
    lines = text.splitlines()
    if len(lines) > 4 and rng.random() < 0.5:
        lines = [line for line in lines if not line or rng.random() < 0.8] or lines
    return "\n".join(lines).strip() or text


def pasted(
    rng: random.Random, texts: Sequence[Document], weights: Sequence[float], *, is_short: bool = False
) -> tuple[Document, str]:
    """Return a document and its text; in some cases with others of its fold around it."""
    document = rng.choices(texts, weights)[0]
    text = (
        few_turns(rng, document.text)
        if document.kind == TRANSCRIPT and rng.random() < FEW
        else excerpt(rng, document.text, is_short=is_short)
    )
    if rng.random() < SEVERAL_DOCUMENTS:
        others = [each for each in texts if fold_of(each) == fold_of(document) and each is not document]
        if rng.random() < 0.6:
            others = [each for each in others if each.language[:2] == document.language[:2]] or others
        chosen = [each.text for each in rng.sample(others, min(len(others), rng.choice((1, 1, 2, 2, 3, 4, 6, 7))))]
        chosen.insert(rng.randint(0, len(chosen)), text)
        text = rng.choice(DOCUMENT_JOINTS).join(chosen)
    return document, text


def excerpt(rng: random.Random, document: str, *, is_short: bool = False) -> str:
    """Return a document, in one of three cases, or three of four short ones, without its first or last paragraphs."""
    parts = document.split("\n\n")
    if len(parts) > (2 if is_short else 3) and rng.random() < (0.75 if is_short else 0.33):
        cut = rng.randint(1, len(parts) - 1 if is_short else len(parts) // 2)
        kept = "\n\n".join(parts[cut:] if rng.random() < 0.5 else parts[:-cut])
        return kept if len(kept) > SHORTEST[not is_short] else document
    return document


def few_turns(rng: random.Random, document: str) -> str:
    """Return a few adjacent lines or paragraphs of a transcript."""
    joint = "\n\n" if document.count("\n\n") > 3 else "\n"
    parts = document.split(joint)
    count = min(len(parts), rng.randint(4, 9))
    start = rng.randint(0, len(parts) - count)
    return joint.join(parts[start : start + count])


def compose(
    rng: random.Random, mode: str, source: Source, document: str, other: str, *, is_short: bool = False
) -> list[tuple[str, bool]]:
    """Return strings in order, each with whether it belongs to the request.

    :param other: the second document, for a request between two.
    """
    asked = request(rng, source, is_long=mode == "alone", is_short=is_short)
    if mode == "alone":
        return [(asked, True)]
    joint = rng.choice(JOINTS)
    if joint == " " and (document if mode == "last" else asked)[-1] not in ".!?\u3002\uff01\uff1f":
        joint = "\n"  # no sentence ends there
    if mode == "last":
        return [(document, False), (joint, False), (asked, True)]
    if mode == "first":
        return [(asked, True), (joint, False), (document, False)]
    if mode == "around":
        return [(asked, True), ("\n\n", False), (document, False), ("\n\n", False), (rng.choice(source.texts), True)]
    before, after = document, other
    if mode == "inside":
        gap = "\n\n" if "\n\n" in document else "\n"
        places = [place for place in range(len(document)) if document.startswith(gap, place)]
        place = rng.choice(places) if places else len(document)
        before, after = document[:place], document[place:].strip()
    return [(before, False), ("\n\n", False), (asked, True), ("\n\n", False), (after, False)]
