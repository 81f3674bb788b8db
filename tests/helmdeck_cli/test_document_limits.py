"""Documents that are shortened to a limit."""

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_cli.document_limits import shorten


@given(st.lists(st.text(max_size=60), max_size=5), st.integers(-5, 200))
def test_shortened_documents_are_beginnings_within_the_limit(texts, limit):
    kept = shorten(texts, limit)
    assert len(kept) == len(texts) and all(text.startswith(each) for text, each in zip(texts, kept, strict=True))
    assert sum(len(each.encode()) for each in kept) <= max(0, limit)
    if sum(len(text.encode()) for text in texts) <= limit:
        assert kept == texts


def test_small_document_leaves_its_share_to_the_others():
    assert shorten(["x" * 100, "y" * 10, "z" * 100], 110) == ["x" * 50, "y" * 10, "z" * 50]


def test_document_ends_at_a_sentence_where_one_is_near():
    assert shorten(["One tide comes. Another goes out again."], 18) == ["One tide comes."]
