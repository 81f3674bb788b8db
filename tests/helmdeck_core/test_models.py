"""Model ids, tiers, tables and variants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Budget, BudgetRow, BudgetTable, InvalidRequest, ModelId, Tier
from helmdeck_testing import make_deck
from tests.case_support import each_case

BUDGETS = make_deck().runtime.budgets


def row(prefix: str, order: int = 0) -> BudgetRow:
    return BudgetRow(prefix=prefix, budget=Budget(model="", evidence=prefix), order=order)


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [("a/b", "a", "b"), (" a / b ", "a", "b"), ("openrouter/z-ai/glm-4.5:free", "openrouter", "z-ai/glm-4.5:free")],
)
def test_a_model_id_is_split_at_the_first_slash(text, provider, name):
    assert ModelId.parse(text) == ModelId(provider, name)


@each_case("text", ["", "  ", "gpt-4o", "/x", "x/", " / "])
def test_a_model_id_without_both_parts_is_an_invalid_request_that_points_to_the_list(text):
    with pytest.raises(InvalidRequest, match="helmdeck budgets"):
        ModelId.parse(text)


def test_an_exact_row_outranks_every_prefix():
    table = BudgetTable([row("a/"), row("a/b"), row("a/b-c")])
    assert table.find("a/b").prefix == "a/b"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_longest_prefix_wins_whatever_the_order_of_rows(order):
    rows = [row("acme/big-", order[0]), row("acme/", order[1])]
    for arranged in (rows, rows[::-1]):
        assert BudgetTable(arranged).find("acme/big-7").prefix == "acme/big-"


def test_the_empty_prefix_is_the_fallback_and_a_table_without_it_answers_none():
    assert BudgetTable([row(""), row("a/")]).find("zzz").prefix == ""
    assert BudgetTable([row("a/")]).find("zzz") is None


@pytest.mark.parametrize(("tier", "variant"), [(Tier.A, "full_steps"), (Tier.B, "full_steps"), (Tier.C, "single_pick")])
def test_the_tier_chooses_the_prompt_variant(tier, variant):
    assert BUDGETS.prompt_variant(Budget(model="x", tier=tier)) == variant


@pytest.mark.parametrize("tier", list(Tier))
def test_an_explicit_prompt_variant_outranks_the_tier(tier):
    assert BUDGETS.prompt_variant(Budget(model="x", tier=tier, prompt_variant="mine")) == "mine"


@pytest.mark.parametrize("cap", [0, -1, None])
def test_no_limit_can_be_written_as_zero(cap):
    assert Budget(model="x", max_catalog_bytes=cap).max_catalog_bytes is None


def test_headroom_counts_only_for_reasoning_models():
    assert Budget(model="x", output_tokens=10, reasoning_headroom_tokens=5).max_tokens == 10
    assert Budget(model="x", output_tokens=10, reasoning_headroom_tokens=5, is_hybrid_reasoning=True).max_tokens == 15


@given(st.text(max_size=40))
def test_no_text_makes_the_table_raise(text):
    assert BudgetTable([row(""), row("a/")]).find(text) is not None


def test_model_chooses_for_itself_unless_its_budget_names_a_chooser() -> None:
    rows = {"a/": {"chooser": "ranker", "supports_logprobs": True}}
    with make_deck(config={"budgets": rows}) as deck:
        chosen, other = deck.budget("a/one").budget, deck.budget("b/one").budget
    assert (chosen.chooser, chosen.supports_logprobs) == ("ranker", True)
    assert (other.chooser, other.supports_logprobs) == ("model", None)
