"""Features of a sentence that tell requests from documents, as data for the segmentation model.

Case is not a feature: a request in capitals is read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from helmdeck_language.english_words import (
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
from helmdeck_language.sentences import Sentence, is_question

FEATURES: Final = (
    "base", "command", "maybe_command", "please", "asks_you", "wish", "question", "first_person", "we", "you",
    "label", "bullet", "quoted", "letter", "open_end", "value", "symbols", "cells", "short", "long", "pointer",
    "other_tongue", "repeated", "relevance", "unrelated", "statement", "dull", "label_command",
    "continues", "one_of_tongues",
)  # fmt: skip
"""The names of the features, in the order of the vectors."""

_PLACE: Final = {name: place for place, name in enumerate(FEATURES)}
_YOU: Final = frozenset(
    "you you'll you've you're your yours du dir dich dein deine deinen ihr ihre ihnen sie vous votre vos tu te usted "
    "ustedes su sus tus".split()
)
# Verbs of commands in other languages, folded, and of English ones that name no tool. Only the first word of a sentence is
# looked up here.
_COMMANDS: Final = frozenset(
    """
    renew merge rotate restart dim mute unmute redo undo reboot forward reply reschedule postpone mark tag pull push grab drop swap
    tell text ping remind put take bring let leave switch ring warn thank congratulate order strip retry silence split flag pin
    lies zeige zeig liste suche such finde find sende send schicke schick erstelle erstell losche losch entferne
    schreibe schreib offne schliesse verschiebe kopiere speichere ubersetze ubersetz fasse fass berechne rechne
    konvertiere buche reserviere bestelle kaufe spiel spiele mach mache stell stelle schalte schalt erinnere sag gib
    nenne vergleiche prufe pruf ruf rufe trag lade plane erklare hol hole gehe such wandle benenne fuge leg lege druck drucke
    frag frage melde bestatige markiere erganze reservier bestell starte starten stoppe beende schau sieh sperre entsperre ordne
    sortiere zahle miete leite antworte beantworte teile veroffentliche installiere aktualisiere exportiere importiere zeichne
    andere ersetze kurze schneide drehe dreh lass setz setze gruppiere filtere sammle storniere verschick verschicke
    lis affiche montre liste cherche recherche trouve envoie poste cree supprime efface annule ecris redige ouvre ferme
    deplace copie enregistre traduis resume decris calcule convertis reserve donne recupere telecharge regle mets
    rappelle dis explique compare verifie joue eteins allume achete commande ajoute planifie change lance corrige note
    prepare programme signale imprime demande previens deplace prends bloque resilie loue publie redimensionne range tri trie
    classe compte remplace renomme installe reponds transfere partage dessine mesure choisis baisse monte active desactive arrete
    demarre coupe colle exporte importe avertis invite confirme appelle organise reporte
    lee muestra lista busca encuentra envia manda crea borra elimina cancela escribe redacta abre cierra mueve copia
    guarda traduce resume describe calcula convierte reserva dame descarga pon recuerdame recuerda dime explica compara
    comprueba reproduce apaga enciende compra pide anade agrega planifica cambia lanza ensename haz mira avisa avisame llama
    encarga prepara programa sube baja imprime corrige apunta quita reinicia ordena clasifica cuenta contesta responde comparte
    publica instala actualiza exporta importa dibuja mide elige activa desactiva cierra corta pega invita confirma organiza
    aplaza renombra sustituye libera localiza averigua revisa
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
# Words that continue a text; a request hardly begins with one. Folded, the first word of a sentence.
_CONTINUING: Final = frozenset(
    """
    then finally additionally also lastly furthermore moreover next afterwards afterward after and but once secondly thirdly
    subsequently meanwhile plus besides it its they them that this these those he she his her otherwise therefore so however
    dann danach ausserdem anschliessend schliesslich zuletzt abschliessend und aber es er zudem
    ensuite puis enfin aussi et mais elle il ils elles finalement
    luego despues ademas tambien ultimo finalmente y pero
    """.split()
)
_POINTER: Final = frozenset(
    "above below following text document article paragraph email minutes letter page passage attached excerpt code log "
    "table oben unten folgenden protokoll brief dessus dessous suivant texte anterior siguiente texto documento".split()
)
_ADDRESSING: Final = frozenset(
    {
        ("can", "you"), ("could", "you"), ("would", "you"), ("will", "you"), ("help", "me"), ("tell", "me"),
        ("show", "me"), ("give", "me"), ("find", "me"), ("kannst", "du"), ("konnten", "sie"), ("konnen", "sie"),
        ("peux", "tu"), ("pouvez", "vous"), ("pourriez", "vous"), ("puedes", "decirme"), ("you", "could"), ("your", "help"),
        ("your", "assistance"), ("need", "you"), ("want", "you"), ("like", "you"), ("you", "please"), ("you", "mind"),
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
    for name in (
        "command",
        "maybe_command",
        "please",
        "asks_you",
        "wish",
        "question",
        "first_person",
        "pointer",
        "label_command",
    )
)
_BEFORE_COMMAND: Final = LEAD_INS | frozenset("bitte por favor y und et dann puis".split())
_ADDRESSING_WORDS: Final = frozenset("puedes podrias puede peux kannst".split())

# Chinese, Japanese, Korean, Thai and Arabic have no spaces around such words, or join them to others.
_OTHER_PLEASE: Final = re.compile(
    "\u8bf7|\u8acb|\u9ebb\u70e6|\u9ebb\u7169|\u5e2e\u6211|\u5e6b\u6211|\u5e2e\u5fd9|\u66ff\u6211|\u4e3a\u6211|\u7ed9\u6211"
    "|\u304f\u3060\u3055\u3044|\u4e0b\u3055\u3044|\u304a\u9858\u3044|\u3066\u307b\u3057\u3044|\u6559\u3048\u3066"
    "|\uc8fc\uc138\uc694|\uc8fc\uc2ed\uc2dc\uc624|\uc918(?:\\W|$)|\ubd80\ud0c1|\u0e01\u0e23\u0e38\u0e13\u0e32|\u0e0a\u0e48\u0e27\u0e22"
    "|\u0645\u0646 \u0641\u0636\u0644\u0643|\u0623\u0631\u062c\u0648|\u0627\u0644\u0631\u062c\u0627\u0621|\u043f\u043e\u0436\u0430\u043b\u0443\u0439\u0441\u0442\u0430"
)
_OTHER_WISH: Final = re.compile(
    "\u6211\u60f3|\u6211\u8981|\u6211\u9700\u8981|\u60f3\u8981|\u5e0c\u671b|\u305f\u3044(?:\u3067\u3059|\u3002|$)|\u6b32\u3057\u3044"
    "|\uc2f6\uc5b4\uc694|\uc6d0\ud574\uc694|\u0e15\u0e49\u0e2d\u0e07\u0e01\u0e32\u0e23|\u0e2d\u0e22\u0e32\u0e01"
    "|\u0623\u0631\u064a\u062f|\u0623\u062d\u062a\u0627\u062c|\u0445\u043e\u0447\u0443|\u043c\u043d\u0435 \u043d\u0443\u0436"
)
_OTHER_QUESTION: Final = re.compile(  # without a question mark
    "[\u5417\u55ce\u5462\u4e48\u9ebc](?:[\u3002\uff1f\uff01]|$)|\u591a\u5c11|\u600e\u4e48|\u600e\u9ebc|\u4ec0\u4e48|\u751a\u9ebc|\u54ea|"
    "\u307e\u3059\u304b|\u3067\u3059\u304b|\u3067\u3057\u3087\u3046\u304b|\ub098\uc694|\uae4c\uc694|\uc5b4\ub54c|\u0e44\u0e2b\u0e21|\u0e01\u0e35\u0e48|\u0e2d\u0e22\u0e48\u0e32\u0e07\u0e44\u0e23|\u0e40\u0e17\u0e48\u0e32\u0e44|\u0e17\u0e35\u0e48\u0e44\u0e2b\u0e19|\u0e40\u0e21\u0e37\u0e48\u0e2d\u0e44|\u0647\u0644 |\u0643\u064a\u0641 |\u0645\u0627 \u0647"
)
_OTHER_COMMAND: Final = re.compile(
    "^\\W*(?:\u53d1|\u4e70|\u8ba2|\u7ea6|\u6253\u5370|\u5bfc\u51fa|\u4e0a\u4f20|\u526a|\u52a0|\u6807|\u62df|\u5907\u4efd|\u6574\u7406|\u5217|\u53eb|\u770b\u770b|\u95ee|\u586b|\u6539|\u6362|\u5b58|\u53d6\u6d88|\u8c03|\u7ffb|\u8bfb|\u603b\u7ed3|\u5f00|\u6392|\u79df|\u8054\u7cfb|\u5b89\u6392|\u7edf\u8ba1|\u68c0\u67e5|\u6838\u5bf9|\u8f6c"
    "|\u0e2b\u0e32|\u0e08\u0e2d\u0e07|\u0e2a\u0e48\u0e07|\u0e41\u0e1b\u0e25|\u0e2a\u0e23\u0e38\u0e1b|\u0e40\u0e1e\u0e34\u0e48\u0e21|\u0e40\u0e15\u0e37\u0e2d\u0e19|\u0e2a\u0e23\u0e49\u0e32\u0e07|\u0e25\u0e1a|\u0e40\u0e1b\u0e34\u0e14|\u0e1b\u0e34\u0e14|\u0e0b\u0e37\u0e49\u0e2d|\u0e40\u0e0a\u0e48\u0e32|\u0e1e\u0e34\u0e21\u0e1e\u0e4c|\u0e40\u0e02\u0e35\u0e22\u0e19|\u0e22\u0e01\u0e40\u0e25\u0e34\u0e01|\u0e40\u0e1b\u0e23\u0e35\u0e22\u0e1a\u0e40\u0e17\u0e35\u0e22\u0e1a|\u0e1a\u0e31\u0e19\u0e17\u0e36\u0e01|\u0e15\u0e23\u0e27\u0e08|\u0e04\u0e33\u0e19\u0e27\u0e13|\u0e40\u0e25\u0e48\u0e19|\u0e42\u0e17\u0e23|\u0e25\u0e07\u0e1b\u0e23\u0e30\u0e01\u0e32\u0e28|\u0e08\u0e31\u0e14|\u0e22\u0e49\u0e32\u0e22|\u0e41\u0e01\u0e49"
    "|\u628a|\u5c06|\u67e5|\u67e5\u8be2|\u641c|\u641c\u7d22|\u627e|\u8ba2|\u9884|\u5220|\u65b0\u5efa|\u521b\u5efa|\u6253\u5f00|\u5173|\u64ad\u653e|\u7ffb\u8bd1|\u603b\u7ed3|\u8ba1\u7b97|\u53d1\u9001|\u63d0\u9192|\u8bbe\u7f6e|\u7ed9|\u7528"
    "|\u5217\u51fa|\u63a8\u8350|\u6bd4\u8f83|\u5206\u6790|\u751f\u6210|\u505a|\u5199|\u753b|\u8ba9|\u544a\u8bc9)|(?:\u3057\u3066|\u3063\u3066|\u3044\u3066|\u3093\u3067|\u3048\u3066|\u3051\u3066|\u3079\u3066|\u305b\u3066)(?:\u3002|$)"
    "|^\\W*(?:\u0642\u0627\u0631\u0646|\u0623\u063a\u0644\u0642|\u0627\u0641\u062a\u062d|\u0636\u0639|\u0627\u0637\u0628\u0639|\u0623\u0636\u0641|\u0630\u0643\u0651\u0631\u0646\u064a|\u0627\u062d\u0630\u0641|\u0627\u062d\u0633\u0628|\u0634\u063a\u0644|\u0623\u0637\u0641\u0626|\u0627\u0634\u062a\u0631|\u0623\u0646\u0634\u0626|\u0627\u062d\u0641\u0638|\u0627\u0639\u0631\u0636|\u062d\u0648\u0651\u0644|\u063a\u064a\u0651\u0631|\u0627\u0631\u0633\u0645|\u0627\u062a\u0635\u0644"
    "|\u0644\u062e\u0635|\u062a\u0631\u062c\u0645|\u0627\u0628\u062d\u062b|\u0623\u0631\u0633\u0644|\u0627\u062d\u062c\u0632|\u0627\u0643\u062a\u0628)"
)
_OTHER_FIRST: Final = re.compile("\u6211(?!\u4eec|\u5011)|\u79c1|\u50d5|\u0623\u0646\u0627|\uc81c |\ub098\ub294")
_OTHER_YOU: Final = re.compile("\u60a8|\u4f60|\u7686\u3055\u3093|\u5404\u4f4d")
_OTHER_POINTER: Final = re.compile(
    "\u4e0a\u9762|\u4e0b\u9762|\u4ee5\u4e0b|\u6587\u4e2d|\u8fd9\u6bb5|\u8fd9\u4efd|\u8fd9\u7bc7|\u4e0a\u306e|\u4ee5\u4e0b\u306e|\u3053\u306e\u6587"
)

_OTHER_CONTINUING: Final = re.compile(
    "^\\W*(?:\u7136\u540e|\u53e6\u5916|\u6700\u540e|\u518d|\u63a5\u7740|\u6b64\u5916|\u8fd8\u6709|\u540c\u65f6|\u5e76|\u5176\u6b21|\u800c\u4e14|\u4f46|\u987a\u4fbf|\u305d\u308c\u304b\u3089|\u305d\u3057\u3066|\u6b21\u306b|\u6700\u5f8c\u306b|\u307e\u305f|\u3042\u3068|\u3055\u3089\u306b|\u3057\u304b\u3057|\uadf8\ub9ac\uace0|\ub9c8\uc9c0\ub9c9\uc73c\ub85c|\ub610|\uadf8\ub7f0|\u0e41\u0e25\u0e49\u0e27|\u0e2a\u0e38\u0e14\u0e17\u0e49\u0e32\u0e22|\u0e08\u0e32\u0e01\u0e19\u0e31\u0e49\u0e19|\u0e41\u0e25\u0e30|\u062b\u0645|\u0623\u062e\u064a\u0631\u0627\u064b|\u0648)"
)

_OTHERS: Final = (
    ("please", _OTHER_PLEASE), ("wish", _OTHER_WISH), ("question", _OTHER_QUESTION), ("first_person", _OTHER_FIRST),
    ("you", _OTHER_YOU), ("pointer", _OTHER_POINTER), ("continues", _OTHER_CONTINUING),
)  # fmt: skip

_LABEL: Final = re.compile(r"[^\W\d_][^\n:\uff1a?!,;(){}\[\]=<>\"]{0,30}[:\uff1a](?=\s|[^\x00-\x7f])")
_BULLET: Final = re.compile(
    r"[-*+\u2022\u00b7\u25e6\u2013\u30fb#>|]|\[[ xX]?\]|\(?[0-9a-zA-Z]{1,3}[.)\u3001]\s|\d+(?:\.\d+)+\s|[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341]{1,3}[\u3001.]|[\u00a7\u2190-\u2bff\U0001f300-\U0001faff]"
)
_FULL_STOP: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964\u061f][\"'\u201d\u2019\u00bb\u300d)\]]{0,4}$")
_STOPS: Final = frozenset(".!?\u2026\u3002\uff01\uff1f\u0964\u061f")
_QUESTION_MARKS: Final = frozenset("?\uff1f\u061f")
_CLOSING: Final = frozenset("\"'\u201d\u2019\u00bb\u300d)]")
_QUOTES: Final = '"\u201c\u201e\u00ab\u300c>|'
_VALUE: Final = re.compile(
    "(?<!^)[0-9]|\"[^\"]{1,80}\"|(?<!\\w)'[^']{1,80}'(?!\\w)|\u201c[^\u201d]{1,80}\u201d|\u300c[^\u300d]{1,80}\u300d"
)
_MARK_WORDS: Final = re.compile(r"\w+")
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
    for flag, count in filter(None, map(_CUES.get, found)):
        flags |= flag
        counts += count
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
    start = 0
    if mark := _BULLET.match(text):
        flags |= _BIT["bullet"]
        start = mark.end()
    label = _LABEL.match(text, start) if ":" in text or "\uff1a" in text else None
    if label:
        flags |= _BIT["label"]
    if found and found[0] in _CONTINUING:
        flags |= _BIT["continues"]
    flags |= _command(found[len(_MARK_WORDS.findall(text, 0, start)) :] if start else found)
    if label and _command(found[len(_MARK_WORDS.findall(text, 0, label.end())) :]):
        flags |= _BIT["label_command"]
    language = ""
    if text.isascii():
        if len(found) <= 2:
            flags |= _BIT["short"]
    else:
        flags |= _other_cues(text, flags, start, label.end() if label else 0)
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
    if (first := _VALUE_START.search(text)) and _VALUE.search(text, first.start()):
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


def _other_cues(text: str, flags: int, start: int, labelled: int) -> int:
    """Return the cues of languages whose words are not separated or not folded here.

    :param start: where the text begins after a list mark.
    :param labelled: where it begins after a label; 0 without one.
    """
    found = 0
    for name, pattern in _OTHERS:
        if pattern.search(text):
            found |= _BIT[name]
    if not flags & _BIT["command"] and _OTHER_COMMAND.search(text[start:]):
        found |= _BIT["command"]
    if labelled and _OTHER_COMMAND.search(text[labelled:]):
        found |= _BIT["label_command"]
    return found


ASKING: Final = sum(_BIT[name] for name in ("command", "please", "asks_you", "wish", "question"))
"""The bits of features of which each alone makes a sentence a request."""
BASE, LABEL, BULLET, LETTER, OPEN_END, STATEMENT, OTHER_TONGUE, ONE_OF_TONGUES, UNRELATED, DULL, CONTINUES = (
    _BIT[name]
    for name in (
        "base", "label", "bullet", "letter", "open_end", "statement", "other_tongue", "one_of_tongues", "unrelated", "dull",
        "continues",
    )
)  # fmt: skip
SYMBOLS, REPEATED, RELEVANCE = (_PLACE[name] for name in ("symbols", "repeated", "relevance"))


def _command(found: Sequence[str]) -> int:
    for position, word in enumerate(found):
        # "Directly open the folder"
        if word not in _BEFORE_COMMAND and (position or not word.endswith("ly") or word in VERBS):
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


@lru_cache(4_096)
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
