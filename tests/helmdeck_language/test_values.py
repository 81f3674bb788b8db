"""Values of several words are one token, and end where ordinary words follow."""

from __future__ import annotations

from helmdeck_language import Kind, scan
from helmdeck_language.values.scanner import _OF_BRACKETED_CODE, _token
from tests.case_support import each_case
from tests.cli_support import ROOT


@each_case(
    ("text", "statement"),
    [
        ("SELECT town FROM depots WHERE size = 'XL' take", "SELECT town FROM depots WHERE size = 'XL'"),
        ("SELECT a FROM b GROUP BY a, and send \"done\" to #ops", "SELECT a FROM b GROUP BY a"),
        ("UPDATE b SET a = 2, afterwards look at it", "UPDATE b SET a = 2"),
        ("DELETE FROM b WHERE a = 7. Then rest", "DELETE FROM b WHERE a = 7"),
        ("SELECT a FROM s.b WHERE c > 1.5. Which rows are left", "SELECT a FROM s.b WHERE c > 1.5"),
        ("SELECT a FROM b ORDER BY a DESC NULLS LAST please", "SELECT a FROM b ORDER BY a DESC NULLS LAST"),
        ("select count(*) from b where a between 1 and 5 and c in (1, 2) on staging", "select count(*) from b where a between 1 and 5 and c in (1, 2)"),
        ("SELECT d.town FROM depots d JOIN vans v ON v.depot = d.id WHERE v.size > 3", "SELECT d.town FROM depots d JOIN vans v ON v.depot = d.id WHERE v.size > 3"),
        ("CREATE TABLE vans (id INTEGER PRIMARY KEY) first", "CREATE TABLE vans (id INTEGER PRIMARY KEY)"),
        ("with t as (select a from b) select * from t for me", "with t as (select a from b) select * from t"),
        ("insert into vans (id) values (4), (5) now", "insert into vans (id) values (4), (5)"),
    ],
)  # fmt: skip
def test_sql_ends_before_words_that_are_no_sql(text: str, statement: str) -> None:
    assert [token.value for token in scan(f"run {text}") if token.kind is Kind.SQL] == [statement]


@each_case(
    ("text", "kind", "value"),
    [
        ("ring 0661 778 21 40 now", Kind.PHONE, "0661 778 21 40"),
        ("ring +44 20 7946 0003.", Kind.PHONE, "+44 20 7946 0003"),
        ("ring (212) 555-0188", Kind.PHONE, "(212) 555-0188"),
        ("is @tuba/brass safe?", Kind.SLUG, "@tuba/brass"),
        ("find FIXME(anna) in it", Kind.CODE, "FIXME(anna)"),
        ("where {Team Size} >= 4 holds", Kind.CODE, "{Team Size} >= 4"),
        ("start tuba:2.4-slim now", Kind.ID, "tuba:2.4-slim"),
        ("start 2.4-jazz7 now", Kind.ID, "2.4-jazz7"),
        ("call it today.csv.gz", Kind.PATH, "today.csv.gz"),
        ("send it today. Then rest", Kind.DATE, "today"),
    ],
)  # fmt: skip
def test_value_of_several_pieces_is_one_token(text: str, kind: Kind, value: str) -> None:
    assert [(token.kind, token.value) for token in scan(text) if token.is_value] == [(kind, value)]


@each_case("text", ["give it a +100", "at 0930 2026", "close the ticket(s)", "move 12 34 56 by hand"])
def test_numbers_and_plural_brackets_are_no_phone_numbers_or_calls(text: str) -> None:
    assert not {Kind.PHONE, Kind.CODE} & {token.kind for token in scan(text)}


def test_code_with_brackets_is_looked_for_only_where_a_text_can_have_it() -> None:
    whole, others = (_token(has_bracketed_code) for has_bracketed_code in (True, False))
    assert len(others.pattern) < len(whole.pattern) / 5
    pages = ("CHANGELOG.md", "CONTRIBUTING.md", "docs/explanation.md")
    texts = [text for page in pages for text in (ROOT / page).read_text(encoding="utf-8").splitlines()]
    texts = [text for text in texts if not _OF_BRACKETED_CODE.search(text)]
    assert len(texts) > 200
    for text in texts:
        assert [(found.lastgroup, *found.span()) for found in whole.finditer(text)] == [
            (found.lastgroup, *found.span()) for found in others.finditer(text)
        ]
