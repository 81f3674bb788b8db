"""Features of a sentence that tell requests from documents, as data for the segmentation model.

Case is not a feature: a request in capitals is read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from helmdeck_plugins.lexical.sentences import Sentence, is_question
from helmdeck_plugins.lexical.words import (
    ASKING_PAIRS,
    FIRST_PERSON,
    LEAD_INS,
    LETTER_WORDS,
    OBJECT_STARTS,
    PLEASE,
    VERBS,
    WE,
    WISHES,
)

FEATURES: Final = (
    "base", "command", "maybe_command", "please", "asks_you", "wish", "question", "first_person", "we", "you",
    "label", "bullet", "quoted", "letter", "open_end", "value", "symbols", "cells", "short", "long", "pointer",
    "other_tongue", "repeated", "relevance", "unrelated", "statement", "dull",
)  # fmt: skip
"""The names of the features, in the order of the vectors."""

_PLACE: Final = {name: place for place, name in enumerate(FEATURES)}
_YOU: Final = frozenset(
    "you you'll you've you're your yours du dir dich dein deine deinen ihr ihre ihnen sie vous votre vos tu te usted "
    "ustedes su sus tus".split()
)
# Verbs of commands in other languages, folded. Only the first word of a sentence is looked up here.
_COMMANDS: Final = frozenset(
    """
    lies zeige zeig liste suche such finde find sende send schicke schick erstelle erstell losche losch entferne
    schreibe schreib offne schliesse verschiebe kopiere speichere ubersetze ubersetz fasse fass berechne rechne
    konvertiere buche reserviere bestelle kaufe spiel spiele mach mache stell stelle schalte schalt erinnere sag gib
    nenne vergleiche prufe pruf ruf rufe trag lade plane erklare hol hole gehe such wandle benenne fuge
    lis affiche montre liste cherche recherche trouve envoie poste cree supprime efface annule ecris redige ouvre ferme
    deplace copie enregistre traduis resume decris calcule convertis reserve donne recupere telecharge regle mets
    rappelle dis explique compare verifie joue eteins allume achete commande ajoute planifie change lance
    lee muestra lista busca encuentra envia manda crea borra elimina cancela escribe redacta abre cierra mueve copia
    guarda traduce resume describe calcula convierte reserva dame descarga pon recuerdame recuerda dime explica compara
    comprueba reproduce apaga enciende compra pide anade agrega planifica cambia lanza ensename haz
    """.split()
)
_WISH_WORDS: Final = WISHES | frozenset(
    "brauche mochte will suche hatte wurde gerne voudrais veux besoin aimerais cherche j'aimerais j'ai quiero quisiera "
    "necesito busco gustaria".split()
)
_FIRST: Final = FIRST_PERSON | frozenset("ich mir mich mein meine meinen meiner je moi mon ma mes yo mi mis".split())
_WE: Final = WE | frozenset("wir uns unser unsere nous notre nos nosotros nuestro nuestra nuestros".split())
_LETTER: Final = LETTER_WORDS | frozenset(
    "geehrte geehrter liebe lieber grussen grusse madame monsieur salutations estimado estimada atentamente querido "
    "querida cordialement".split()
)
_POINTER: Final = frozenset(
    "above below following text document article paragraph email minutes letter page passage attached excerpt code log "
    "table oben unten folgenden protokoll brief dessus dessous suivant texte anterior siguiente texto documento".split()
)
_ADDRESSING: Final = frozenset(
    {
        ("can", "you"), ("could", "you"), ("would", "you"), ("will", "you"), ("help", "me"), ("tell", "me"),
        ("show", "me"), ("give", "me"), ("find", "me"), ("kannst", "du"), ("konnten", "sie"), ("konnen", "sie"),
        ("peux", "tu"), ("pouvez", "vous"), ("pourriez", "vous"), ("puedes", "decirme"),
    }
)  # fmt: skip
_BIT: Final = {name: 1 << place for place, name in enumerate(FEATURES)}
_BASE: Final = _BIT["base"]
_STARTS_PAIR: Final = 1 << len(FEATURES)
_FLAGGED: Final = {
    "please": PLEASE, "wish": _WISH_WORDS, "first_person": _FIRST, "we": _WE, "you": _YOU, "pointer": _POINTER,
}  # fmt: skip
_PAIRS: Final = {
    **dict.fromkeys(ASKING_PAIRS - _ADDRESSING, _BIT["wish"]),
    **dict.fromkeys(_ADDRESSING, _BIT["asks_you"]),
}
# A sentence with none of these only states something.
_ADDRESSED: Final = sum(
    _BIT[name]
    for name in ("command", "maybe_command", "please", "asks_you", "wish", "question", "first_person", "pointer")
)
_BEFORE_COMMAND: Final = LEAD_INS | frozenset("bitte por favor y und et dann puis".split())
_ADDRESSING_WORDS: Final = frozenset("puedes podrias puede peux kannst".split())

# Chinese, Japanese, Korean, Thai and Arabic have no spaces around such words, or join them to others.
_OTHER_PLEASE: Final = re.compile(
    "\u8bf7|\u8acb|\u9ebb\u70e6|\u9ebb\u7169|\u5e2e\u6211|\u5e6b\u6211|\u5e2e\u5fd9|\u66ff\u6211|\u4e3a\u6211|\u7ed9\u6211"
    "|\u304f\u3060\u3055\u3044|\u4e0b\u3055\u3044|\u304a\u9858\u3044|\u3066\u307b\u3057\u3044|\u6559\u3048\u3066"
    "|\uc8fc\uc138\uc694|\ubd80\ud0c1|\u0e01\u0e23\u0e38\u0e13\u0e32|\u0e0a\u0e48\u0e27\u0e22"
    "|\u0645\u0646 \u0641\u0636\u0644\u0643|\u0623\u0631\u062c\u0648|\u0627\u0644\u0631\u062c\u0627\u0621|\u043f\u043e\u0436\u0430\u043b\u0443\u0439\u0441\u0442\u0430"
)
_OTHER_WISH: Final = re.compile(
    "\u6211\u60f3|\u6211\u8981|\u6211\u9700\u8981|\u60f3\u8981|\u5e0c\u671b|\u305f\u3044(?:\u3067\u3059|\u3002|$)|\u6b32\u3057\u3044"
    "|\uc2f6\uc5b4\uc694|\uc6d0\ud574\uc694|\u0e15\u0e49\u0e2d\u0e07\u0e01\u0e32\u0e23|\u0e2d\u0e22\u0e32\u0e01"
    "|\u0623\u0631\u064a\u062f|\u0623\u062d\u062a\u0627\u062c|\u0445\u043e\u0447\u0443|\u043c\u043d\u0435 \u043d\u0443\u0436"
)
_OTHER_QUESTION: Final = re.compile(  # without a question mark
    "[\u5417\u55ce\u5462\u4e48\u9ebc](?:[\u3002\uff1f\uff01]|$)|\u591a\u5c11|\u600e\u4e48|\u600e\u9ebc|\u4ec0\u4e48|\u751a\u9ebc|\u54ea|"
    "\u307e\u3059\u304b|\u3067\u3059\u304b|\u3067\u3057\u3087\u3046\u304b|\ub098\uc694|\u0647\u0644 |\u0643\u064a\u0641 |\u0645\u0627 \u0647"
)
_OTHER_COMMAND: Final = re.compile(
    "^\\W*(?:\u628a|\u5c06|\u67e5|\u67e5\u8be2|\u641c|\u641c\u7d22|\u627e|\u8ba2|\u9884|\u5220|\u65b0\u5efa|\u521b\u5efa|\u6253\u5f00|\u5173|\u64ad\u653e|\u7ffb\u8bd1|\u603b\u7ed3|\u8ba1\u7b97|\u53d1\u9001|\u63d0\u9192|\u8bbe\u7f6e|\u7ed9|\u7528"
    "|\u5217\u51fa|\u63a8\u8350|\u6bd4\u8f83|\u5206\u6790|\u751f\u6210|\u505a|\u5199|\u753b|\u8ba9|\u544a\u8bc9)|(?:\u3057\u3066|\u3063\u3066|\u3044\u3066|\u3093\u3067|\u3048\u3066|\u3051\u3066|\u3079\u3066|\u305b\u3066)(?:\u3002|$)"
    "|^\\W*(?:\u0644\u062e\u0635|\u062a\u0631\u062c\u0645|\u0627\u0628\u062d\u062b|\u0623\u0631\u0633\u0644|\u0627\u062d\u062c\u0632|\u0627\u0643\u062a\u0628)"
)
_OTHER_FIRST: Final = re.compile("\u6211(?!\u4eec|\u5011)|\u79c1|\u50d5|\u0623\u0646\u0627|\uc81c |\ub098\ub294")
_OTHER_YOU: Final = re.compile("\u60a8|\u4f60|\u7686\u3055\u3093|\u5404\u4f4d")
_OTHER_POINTER: Final = re.compile(
    "\u4e0a\u9762|\u4e0b\u9762|\u4ee5\u4e0b|\u6587\u4e2d|\u8fd9\u6bb5|\u8fd9\u4efd|\u8fd9\u7bc7|\u4e0a\u306e|\u4ee5\u4e0b\u306e|\u3053\u306e\u6587"
)

_OTHERS: Final = (
    ("please", _OTHER_PLEASE), ("wish", _OTHER_WISH), ("question", _OTHER_QUESTION), ("first_person", _OTHER_FIRST),
    ("you", _OTHER_YOU), ("pointer", _OTHER_POINTER),
)  # fmt: skip

_LABEL: Final = re.compile(r"[^\W\d_][^\n:\uff1a?!,;(){}\[\]=<>\"]{0,30}[:\uff1a](?=\s|[^\x00-\x7f])")
_BULLET: Final = re.compile(
    r"[-*+\u2022\u00b7\u25e6\u2013\u30fb#>|]|\[[ xX]?\]|\(?[0-9a-zA-Z]{1,3}[.)\u3001]\s|\d+(?:\.\d+)+\s|[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341]{1,3}[\u3001.]|\u00a7"
)
_FULL_STOP: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964\u061f][\"'\u201d\u2019\u00bb\u300d)\]]{0,4}$")
_STOPS: Final = frozenset(".!?\u2026\u3002\uff01\uff1f\u0964\u061f")
_QUESTION_MARKS: Final = frozenset("?\uff1f\u061f")
_CLOSING: Final = frozenset("\"'\u201d\u2019\u00bb\u300d)]")
_QUOTES: Final = '"\u201c\u201e\u00ab\u300c>|'
_VALUE: Final = re.compile(
    "(?<!^)[0-9]|\"[^\"]{1,80}\"|(?<!\\w)'[^']{1,80}'(?!\\w)|\u201c[^\u201d]{1,80}\u201d|\u300c[^\u300d]{1,80}\u300d"
)
# Most sentences have none of these characters, and a search for a set of characters is fast.
_VALUE_START: Final = re.compile("[0-9\"'\u201c\u300c]")
_SYMBOL: Final = re.compile(r"[{}()<>\[\]=;_$\\/@|~^&%]")
_CELL: Final = re.compile(r"[,;\t|](?=\S)")
_LONG: Final = 160
# Only this many characters and words of a sentence are searched for cues.
_SEARCHED: Final = 400
_COUNTED: Final = 80


def features(sentence: Sentence) -> tuple[int, Sequence[tuple[int, float]], str]:
    """Return the features of a sentence and its language; the context adds features.

    :returns: features that are 1 as a bit for each place, places and values of the others, and the language. The language is a script or, of Latin letters, a language; empty where that is not clear.
    """
    text, found = sentence.text[:_SEARCHED], sentence.words[:_COUNTED]
    flags, counts = _BASE, 0
    for word in found:
        row = _CUES.get(word)
        if row is not None:
            flags |= row[0]
            counts += row[1]
    if flags & _STARTS_PAIR:
        flags &= ~_STARTS_PAIR
        for pair in pairwise(found):
            flags |= _PAIRS.get(pair, 0)
    if not _ADDRESSING_WORDS.isdisjoint(found[:2]):
        flags |= _BIT["asks_you"]
    if flags & _BIT["asks_you"]:
        flags &= ~_BIT["you"]
    if not _LETTER.isdisjoint(found[:3]):
        flags |= _BIT["letter"]
    flags |= _command(found)
    language = ""
    if text.isascii():
        if len(found) <= 2:
            flags |= _BIT["short"]
    else:
        flags |= _other_cues(text, flags)
        language = next((name for name, pattern in _SCRIPTS if pattern.search(text)), "")
    language = language or _latin_language(counts)
    last = sentence.text[-1]
    if last in _CLOSING:
        end = sentence.text[-6:]
        ends, asks = _FULL_STOP.search(end) is not None, is_question(end)
    else:
        ends, asks = last in _STOPS, last in _QUESTION_MARKS
    if not ends:
        flags |= OPEN_END
    elif asks:
        flags |= _BIT["question"]
    if len(sentence.text) > _LONG:
        flags |= _BIT["long"]
    if text[0] in _QUOTES:
        flags |= _BIT["quoted"]
    if (":" in text or "\uff1a" in text) and _LABEL.match(text):
        flags |= _BIT["label"]
    if _BULLET.match(text):
        flags |= _BIT["bullet"]
    if _VALUE_START.search(text) and _VALUE.search(text):
        flags |= _BIT["value"]
    if not flags & _ADDRESSED:
        flags |= _BIT["statement"]
    values: Sequence[tuple[int, float]] = ()
    symbols = len(_SYMBOL.findall(text))
    if symbols:
        values = ((SYMBOLS, min(1.0, 10 * symbols / len(text))),)
    if symbols or text.count(",") > 1 or "\t" in text:
        cells = len(_CELL.findall(text))
        if cells > 1:
            values = (*values, (_PLACE["cells"], min(1.0, cells / 5)))
    return flags, values, language


def _other_cues(text: str, flags: int) -> int:
    """Return the cues of languages whose words are not separated or not folded here."""
    found = 0
    for name, pattern in _OTHERS:
        if pattern.search(text):
            found |= _BIT[name]
    if not flags & _BIT["command"] and _OTHER_COMMAND.search(text):
        found |= _BIT["command"]
    return found


ASKING: Final = sum(_BIT[name] for name in ("command", "please", "asks_you", "wish", "question"))
"""The bits of features of which each alone makes a sentence a request."""
BASE, LABEL, BULLET, LETTER, OPEN_END, STATEMENT, OTHER_TONGUE, UNRELATED, DULL = (
    _BIT[name]
    for name in (
        "base", "label", "bullet", "letter", "open_end", "statement", "other_tongue", "unrelated", "dull",
    )
)  # fmt: skip
SYMBOLS, REPEATED, RELEVANCE = (_PLACE[name] for name in ("symbols", "repeated", "relevance"))


def _command(found: Sequence[str]) -> int:
    for position, word in enumerate(found):
        if word not in _BEFORE_COMMAND:
            if word in VERBS:
                after = found[position + 1] if position + 1 < len(found) else ""
                return _BIT["command" if after in OBJECT_STARTS else "maybe_command"]
            return _BIT["command"] if word.partition("-")[0] in _COMMANDS else 0
    return 0


# -- the language of a sentence ------------------------------------------------------------------------------

_SCRIPTS: Final = (
    ("kana", re.compile("[\u3040-\u30ff\uff66-\uff9f]")),
    ("han", re.compile("[\u3400-\u9fff]")),
    ("hangul", re.compile("[\uac00-\ud7af]")),
    ("thai", re.compile("[\u0e00-\u0e7f]")),
    ("arabic", re.compile("[\u0600-\u06ff]")),
    ("cyrillic", re.compile("[\u0400-\u04ff]")),
    ("greek", re.compile("[\u0370-\u03ff]")),
    ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("indic", re.compile("[\u0900-\u0dff]")),
)
# Counters of words of each language are packed into one number; a sentence has at most _COUNTED words.
_COUNTER: Final = 8
_MASK: Final = 255
_LANGUAGES: Final = {
    "en": "the of to is and with for this that it my me what you are from how have can on please be",
    "de": "der die das und ist nicht mit ein eine einen den dem im zu auf fur von bitte ich wie wird sie wir bei nach",
    "fr": "le la les des et est une du pour dans que qui sur au avec je nous vous ce il pas s'il mon",
    "es": "el los las y una del por que en con para es se mi lo como cual al su esta",
}


def _latin_language(counts: int) -> str:
    """Return the language with most words, of counters that are packed into one number."""
    if not counts:
        return ""
    rows = sorted([(counts >> _COUNTER * place & _MASK, name) for place, name in enumerate(_LANGUAGES)], reverse=True)
    return rows[0][1] if rows[0][0] > rows[1][0] else ""


def _cue_table() -> dict[str, tuple[int, int]]:
    """Return the flags and language counters of every word that is a cue."""
    table: dict[str, tuple[int, int]] = {}

    def add(words: Iterable[str], flags: int, counts: int) -> None:
        for word in words:
            before = table.get(word, (0, 0))
            table[word] = (before[0] | flags, before[1] + counts)

    for name, words in _FLAGGED.items():
        add(words, _BIT[name], 0)
    add({first for first, _ in _PAIRS}, _STARTS_PAIR, 0)
    for place, text in enumerate(_LANGUAGES.values()):
        add(text.split(), 0, 1 << _COUNTER * place)
    return table


_CUES: Final = _cue_table()
