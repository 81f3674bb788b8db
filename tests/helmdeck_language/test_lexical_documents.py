"""Requests beside documents of many kinds and languages: which part is the request, whatever the document is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Catalog
from helmdeck_language.request import cues, layout
from helmdeck_language.request.borders import BORDER, border_scores, recurrences
from helmdeck_language.request.layout import asking_chances
from helmdeck_language.request.model import LAYOUT, Model, model
from helmdeck_language.request.pasted_text import separate
from helmdeck_language.request.reading import Reading, read
from helmdeck_language.request.sentences import copies, sentences
from helmdeck_language.request.turn_layouts import TURN_LAYOUT
from helmdeck_language.text.terms import terms
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from tests.case_support import each_case
from tests.work_support import WorkCounter

REQUEST = "Please book a table for four people at an Italian restaurant near the station."

LICENCE = (
    "BROOK FREE LICENCE\n\n1. You may use, copy and change this program for any purpose, and give copies to others.\n\n"
    "2. Copies must contain this text. Changed versions must say what was changed and by whom.\n\n"
    "3. You must not use the names of the authors for advertising unless they agree in writing.\n\n"
    "4. The program is provided without any warranty. The authors are not liable for damages of any kind that follow "
    "from its use, even if they knew about the possibility of such damages."
)
CODE = (
    "class Queue:\n    def __init__(self, limit):\n        self.items = []\n        self.limit = limit\n\n"
    "    def push(self, item):\n        if len(self.items) >= self.limit:\n            raise OverflowError('queue is full')\n"
    "        self.items.append(item)\n\n    def pop(self):\n        # the oldest item comes first\n        return self.items.pop(0)\n\n"
    "def drain(queue, send):\n    while queue.items:\n        send(queue.pop())\n    print('done', queue.limit)\n"
)
ORDERS = json.dumps(
    {
        "orders": [
            {"id": number, "item": item, "note": "call before delivery", "price": number * 1.5}
            for number, item in enumerate(["lamp", "chair", "rug", "shelf", "mirror", "stool"])
        ]
    },
    indent=1,
)
LOG = "\n".join(
    f"2025-03-0{day} 04:1{day}:00 WARN backup could not open /srv/data/{day}.db: locked, retry in {day} s"
    for day in range(1, 9)
)
TABLE = "id,name,city,hours,start\n" + "\n".join(
    f"{number},Person {number},{city},{30 + number},2021-0{number}-01"
    for number, city in enumerate(["Oslo", "Bergen", "Turku", "Malmo", "Aarhus", "Narvik", "Vaasa", "Lund"] * 2, 1)
)
ADVERT = (
    "SUMMER SALE AT RIVERSIDE BIKES\n\nBuy two tyres and get a tube for free! Choose from nine colours, order online, and "
    "collect your bike tomorrow. Looking for a helmet? Try it on in our shop.\n\nThis week only: the City Three for 399. "
    "Add a lock for ten. Join our club, collect points and win a tour. Download the app, scan your receipt, and tell your "
    "friends. We can help you find the right size."
)
LETTER = (
    "Dear Mrs Quill,\n\nI am writing because I need a new key for the cellar. Could you send me one this week? I would also "
    "like to know when the stairs will be painted.\n\nPlease tell the gardener to leave the roses alone, and find out who "
    "parks in my space. I have rated twice.\n\nCan you call me in the evening? I want to talk about the lease, and I will "
    "bring the papers that you sent me in May.\n\nYours sincerely,\nA. Finch"
)
DOCUMENTS = {
    "licence": LICENCE, "code": CODE, "JSON": ORDERS, "log": LOG, "CSV": TABLE, "advert": ADVERT, "letter": LETTER,
}  # fmt: skip
CATALOG = Catalog.from_data(
    {
        "packs": [
            {"name": "restaurant_booking", "description": "Reserve a table at a restaurant."},
            {"name": "key_service", "description": "Order keys and locks."},
            {"name": "bike_shop", "description": "Find bikes and tyres for sale."},
            {"name": "log_search", "description": "Search logs for warnings and errors."},
            {"name": "licence_check", "description": "Compare software licences."},
            {"name": "order_status", "description": "Look up orders, items and prices."},
        ],
        "pipelines": [],
    },
    "test",
)


def weight(reading: Reading, word: str) -> float:
    return max((reading.weights.get(term, 0.0) for term in terms(word)), default=0.0)


@pytest.fixture(scope="module")
def index() -> LexicalIndex:
    return LexicalIndex(CATALOG)


@each_case("kind", DOCUMENTS)
@each_case("joint", ["\n\n", "\n"])
@each_case("order", ["before", "after"])
def test_the_request_is_found_beside_a_document(index: LexicalIndex, kind: str, joint: str, order: str) -> None:
    parts = [DOCUMENTS[kind], REQUEST]
    text = joint.join(parts if order == "before" else parts[::-1])
    assert weight(index.read(text), "restaurant") > 0.5
    assert index.rank(text).scores[0].id == "restaurant_booking"


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_most_words_of_a_document_count_nothing(index: LexicalIndex, kind: str) -> None:
    reading = index.read(f"{DOCUMENTS[kind]}\n\n{REQUEST}")
    document = set(terms(DOCUMENTS[kind])) - set(terms(REQUEST))
    assert len(document & reading.weights.keys()) < len(document) / 3


MULTILINE = (
    "I have two things for today.\nFind me a train from Lund to Oslo on Friday that arrives before noon.\n\nAfterwards book a "
    "hotel with breakfast near the station for two nights.\n\nFinally, please remind me on Thursday evening to pack my "
    "umbrella, and send the bill to my office. I need a receipt with the name of the company on it, because "
    "accounting asks for one every time."
)


def test_request_of_several_lines_alone_is_unchanged(index: LexicalIndex) -> None:
    reading = index.read(MULTILINE)
    assert set(reading.weights.values()) == {1.0}
    assert reading.document == ""


@pytest.mark.parametrize("order", ["before", "after"])
def test_request_of_several_lines_is_found_beside_a_document(index: LexicalIndex, order: str) -> None:
    parts = [LICENCE, MULTILINE]
    reading = index.read("\n\n".join(parts if order == "before" else parts[::-1]))
    assert min(weight(reading, word) for word in ("train", "hotel", "umbrella")) >= 0.25
    assert weight(reading, "warranty") == 0


CHINESE = "帮我在火车站附近订一家意大利餐厅,四个人。"
GERMAN_NOTICE = (
    "Liebe Mieterinnen und Mieter,\n\nam Montag wird das Wasser abgestellt. Bitte füllen Sie am Abend vorher einige Eimer und "
    "schließen Sie alle Hähne. Können Sie den Keller räumen? Der Handwerker braucht Platz für sein Werkzeug.\n\n"
    "Melden Sie sich, wenn Ihre Waschmaschine angeschlossen ist. Wir danken für Ihre Geduld und bitten um Verständnis für die "
    "Arbeiten, die bis Mittwoch dauern.\n\nMit freundlichen Grüßen\nIhre Hausverwaltung"
)
CHINESE_NOTICE = (
    "各位住户:\n\n星期一上午九点到下午四点,本楼将停水检修。请大家提前准备好生活用水,并关好家里的水龙头。\n\n地下室的物品请在"
    "星期日晚上之前搬走,维修人员需要放置工具。您家里的洗衣机接好了吗?如有疑问,请拨打物业电话。\n\n我们希望尽快完成工作,感谢"
    "您的理解和支持。施工期间噪音较大,请照顾好老人和孩子,出门时带好钥匙。电梯也会停用半天,请走楼梯。\n\n检修结束以后,水龙头里可能会流出"
    "浑浊的水,请先放水几分钟再使用。如果厨房或者卫生间漏水,请立即告诉值班人员,并留下您的姓名和房间号码。\n\n物业管理处"
)


@each_case("order", ["before", "after"])
@each_case(
    ("request_text", "document", "own", "other"),
    [
        (CHINESE, LETTER, "餐厅", "gardener"),
        (CHINESE, GERMAN_NOTICE, "餐厅", "Handwerker"),
        (REQUEST, CHINESE_NOTICE, "restaurant", "维修"),
        (CHINESE, CHINESE_NOTICE, "餐厅", "维修"),
        (REQUEST, GERMAN_NOTICE, "restaurant", "Handwerker"),
    ],
    ids=["zh-en", "zh-de", "en-zh", "zh-zh", "en-de"],
)
def test_requests_and_documents_in_any_language(
    index: LexicalIndex, request_text: str, document: str, own: str, other: str, order: str
) -> None:
    parts = [document, request_text]
    reading = index.read("\n\n".join(parts if order == "before" else parts[::-1]))
    assert weight(reading, own) > 0.5
    assert weight(reading, other) < 0.25


def test_chinese_words_match_by_single_characters_too() -> None:
    catalog = Catalog.from_data(
        {
            "packs": [
                {"name": "order_food", "description": "点外卖,选择菜品"},
                {"name": "buy_ticket", "description": "购买电影票并选座"},
                {"name": "query_weather", "description": "查询天气预报,包括降雨概率"},
            ],
            "pipelines": [],
        },
        "test",
    )
    found = LexicalIndex(catalog).rank("明天会下雨吗?").scores[0]
    assert found.id == "query_weather"
    assert "description:雨" in found.matched


# -- documents that are pasted again -------------------------------------------------------------------------


@given(
    st.sampled_from(sorted(DOCUMENTS)),
    st.integers(2, 12),
    st.sampled_from(["\n", "\n\n", "\n\n\n"]),
    st.sampled_from(["before", "after"]),
    st.sampled_from([REQUEST, CHINESE]),
)
def test_copies_of_a_document_ask_for_nothing_more(kind: str, times: int, joint: str, order: str, request: str) -> None:
    def asking(count: int) -> tuple[str, ...]:
        parts = [joint.join([DOCUMENTS[kind]] * count), request]
        return read("\n\n".join(parts if order == "before" else parts[::-1])).asking

    assert asking(times) == asking(1)


REQUESTS = {
    "one sentence": REQUEST,
    "Chinese": CHINESE,
    "German": "Bitte reserviere einen Tisch f\u00fcr vier Personen in einem italienischen Restaurant am Bahnhof.",
}


@given(
    st.sampled_from(sorted(REQUESTS)),
    st.sampled_from(sorted(set(DOCUMENTS) - {"code"})),
    st.sampled_from(["before", "after"]),
)
def test_a_document_beside_a_request_removes_nothing_from_it(
    index: LexicalIndex, request_kind: str, kind: str, order: str
) -> None:
    own = REQUESTS[request_kind]
    parts = [own, DOCUMENTS[kind]]
    reading = index.read("\n\n".join(parts if order == "after" else parts[::-1]))
    assert {sentence.text for sentence in sentences(own)} <= set(reading.asking)


@given(st.lists(st.sampled_from(["Send it.", "Wait for a day and try again.", "a", "{", "Then call Eva."]), max_size=8))
def test_a_short_text_may_repeat_itself(lines: list[str]) -> None:
    assert read("\n".join(lines)).document == ""


def test_only_passages_are_copies() -> None:
    passage = ["This is the first sentence of a passage.", "And this is the second of its sentences."]
    found = sentences("\n".join([*passage, REQUEST, *passage, "{", "}", "{", "}", REQUEST]))
    assert copies(found) == {3, 4}


@pytest.mark.parametrize("times", [2, 40])
def test_a_repeated_document_is_kept_whole_in_the_reading(times: int) -> None:
    reading = read("\n\n".join([*[ADVERT] * times, REQUEST]))
    assert reading.document.split() == ADVERT.split() * times


# -- the model -----------------------------------------------------------------------------------------------


def test_weights_name_exactly_the_features() -> None:
    data = json.loads(Path(layout.__file__).with_name("segmentation.json").read_text(encoding="utf-8"))
    plain = {
        **{part: set(cues.FEATURES) for part in ("request", "document", "alone")}, "border": set(BORDER), "layout": set(LAYOUT),
    }  # fmt: skip
    assert {kind: {part: set(own) for part, own in parts.items()} for kind, parts in data.items()} == {
        "plain": plain, "turns": {**plain, "turns": set(TURN_LAYOUT)},
    }  # fmt: skip


@pytest.mark.parametrize("before", ["", "Ann: hi.\nBo: hello. Sit down.\nAnn: thanks.\nBo: oh.\n\n"])
def test_the_score_of_a_layout_is_the_sum_of_its_features_times_the_weights(before: str) -> None:
    """The fitting script computes the features of a layout as its scores for unit vectors."""
    found = sentences(f"{before}{LETTER}\n\n- {REQUEST}\n- 3 < 4; x = [1]")
    text = layout.Text(found, [layout.width(sentence.text) for sentence in found], lambda terms: float(len(terms) % 5))
    assert bool(text.turns.inside) is bool(before)
    learnt = model(with_turns=bool(before))
    weights = attrs.astuple(learnt, filter=lambda field, _: field.init)
    sums = [0.0] * len(text.layouts(learnt))
    for part, own in enumerate(weights):
        for place, weight in enumerate(own):
            unit = [[float((part, place) == (i, j)) for j in range(len(each))] for i, each in enumerate(weights)]
            for i, each in enumerate(text.layouts(Model(*unit))):
                sums[i] += weight * each.score
    assert [each.score for each in text.layouts(learnt)] == pytest.approx(sums)


def test_relevance_is_computed_near_both_ends_only() -> None:
    calls: list[Sequence[str]] = []

    def relevance(found: Sequence[str]) -> float:
        calls.append(found)
        return 1.0

    asking_chances(sentences("\n\n".join([LETTER] * 20)), relevance)
    assert len(calls) <= 10


# -- hostile input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["x", "word ", "{};()", "。", "请", "- a\n", "a: b\n\n", "> q\n", "\u200b", "1,2,3\n"])
def test_a_document_of_a_megabyte_does_not_hide_the_request(index: LexicalIndex, unit: str) -> None:
    document = unit * (1_000_000 // len(unit))
    reading = index.read(f"{document}\n\n{REQUEST}")
    assert weight(reading, "restaurant") > 0.25
    assert index.rank(f"{document}\n\n{REQUEST}").scores == index.rank(f"{document}\n\n{REQUEST}").scores


@each_case("unit", ["a: b\n\n", "ann 9:01\nx\n\n", "{};()\n", "请。", "Can you? ", "I want it.\n\n"])
def test_work_grows_linearly_with_the_document(work_counter: WorkCounter, unit: str) -> None:
    # Four times as long, all of the text is still split into sentences.
    work_counter.assert_linear(lambda length: read(unit * (length // len(unit)) + "\n\n" + REQUEST), 3_800)


def bordered(lines: Sequence[Sequence[str]], feature: str) -> list[float]:
    """The value of one feature of every border of a text."""
    found = sentences("\n".join(" ".join(line) for line in lines))
    count = len(found)
    sides = layout.Sides([cues.BASE] * count, [False] * count, [""] * count, [0.0] * count, [(0.0,) * 5] * count)
    weights = [float(name == feature) for name in BORDER]
    places = range(1, count)
    before, _ = border_scores(found, sides, weights, places, places, [], recurrences(found)[0])
    return [before[at] for at in places]


@given(
    st.lists(st.lists(st.sampled_from("cat dog sun sea oak".split()), min_size=1, max_size=4), min_size=2, max_size=12)
)
def test_break_is_the_share_of_the_terms_on_one_side_only(lines: list[list[str]]) -> None:
    found = [set(terms(" ".join(line))) for line in lines]
    whole, near = [], []
    for at in range(1, len(found)):
        for shares, ahead, behind in (
            (whole, set().union(*found[:at]), set().union(*found[at:])),
            (near, set().union(*found[max(at - 3, 0) : at]), set().union(*found[at : at + 3])),
        ):
            shares.append(1 - len(ahead & behind) / min(len(ahead), len(behind)))
    assert bordered(lines, "break") == pytest.approx(whole)
    assert bordered(lines, "near_break") == pytest.approx(near)


def test_recurring_terms_of_a_sentence_are_counted_once() -> None:
    found = sentences("cat dog\ncat sun\nsea\ncat dog")
    assert recurrences(found) == ([(0, 1), (1, 3), (0, 3)], [2, 1, 0, 2])


@each_case(
    ("text", "document"),
    [
        ('Post this to the board: "We open at nine". Thanks a lot!', ""),
        ('Post this to the board: "We open at nine," said Ada. It was late.', '"We open at nine," said Ada. It was late.'),
        ("Post this to the board: We open at nine. Thanks a lot!", "We open at nine. Thanks a lot!"),
    ],
)  # fmt: skip
def test_a_few_words_behind_a_quoted_text_belong_to_the_request(text: str, document: str) -> None:
    assert separate(text, read(text)).document == document


@each_case(
    "request_text",
    [
        "who won the derby yesterday",
        "any trams running to the harbour tonight",
        "hey is the bakery on mill lane open on sundays",
        "how late can I still return the blue jacket",
    ],
)
def test_question_without_its_mark_is_the_request_beside_an_announcement(index, request_text):
    assert index.read(f"{ADVERT}\n\n{request_text}").asking == (request_text,)


def test_words_of_doubtful_sentences_count_little_and_those_of_probable_ones_fully(monkeypatch):
    monkeypatch.setattr("helmdeck_language.request.reading.asking_chances", lambda *_: [0.3, 0.6, 0.9])
    weights = read("The lamps are brass. Bring the chairs. Sell the rug.").weights
    assert weights["brass"] == pytest.approx(0.09)
    assert weights["chair"] == weights["rug"] == 1.0
