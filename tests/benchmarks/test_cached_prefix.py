"""What the page about cached prefixes says, on fewer requests."""

import attrs
import pytest

from benchmarks.prefix_cache import replay
from benchmarks.prefix_cache.plot import bars
from benchmarks.prefix_cache.providers import ANTHROPIC, DEEPSEEK, GEMINI, OPENAI, Cache, Sent, common_bytes

COUNT = 60
CACHED_B = "openrouter/deepseek/deepseek-v4-pro"


@pytest.mark.parametrize("rules", [ANTHROPIC, OPENAI, GEMINI], ids=lambda rules: rules.name)
def test_of_a_catalog_that_is_sent_whole_nearly_all_input_is_cached(rules):
    bill = replay.replay(replay.case("x", "openai/gpt-4o", COUNT), replay.ours, rules, gap_s=20)
    assert bill.cached_share >= 0.95 and bill.steady_share >= 0.95


@pytest.mark.parametrize(("tools", "fields"), [(0, {"max_catalog_bytes": 10_000}), (300, {})])
def test_of_a_catalog_that_does_not_fit_the_prefix_is_cached_and_calls_cost_less_than_half(tools, fields):
    case = replay.case("x", CACHED_B, COUNT, tools, **fields)
    bill, other = (replay.replay(case, layout, DEEPSEEK, gap_s=20) for layout in (replay.ours, replay.in_front))
    assert bill.steady_share >= 0.85 and other.steady_share < 0.3
    assert bill.usd_per_1000 < other.usd_per_1000 / 2
    prompts = [case.composer.compose(replay.question(text), case.budget) for text, _ in case.requests]
    assert replay.held(case, prompts) == 1.0


def test_a_marked_prefix_is_written_once_and_read_while_it_is_kept():
    cache = Cache(ANTHROPIC)
    sent = Sent(b"x" * 7_000 + b"tail", 7_000)
    for now in (0, 200, 400, 800):
        cache.charge(sent, now)
    assert cache.bill.cached_tokens == 2 * 2_000 and cache.bill.steady_share == 0.5
    short = Cache(ANTHROPIC)
    short.charge(Sent(b"x" * 700, 700), 0)
    assert short.bill.usd == pytest.approx(200 * 3 / 1e6), "too short to be cached, and so not written either"


def test_any_beginning_is_found_again_in_steps_where_no_mark_is_needed():
    cache = Cache(OPENAI)
    for number in range(2):
        cache.charge(Sent(b"x" * 3_500 + b"%d" % number + b"y" * 3_500, 0), float(number))
    assert cache.bill.cached_tokens == 0, "1,000 tokens are below the least"
    cache = Cache(attrs.evolve(OPENAI, min_tokens=512))
    for number in range(2):
        cache.charge(Sent(b"x" * 3_500 + b"%d" % number + b"y" * 3_500, 0), float(number))
    assert cache.bill.cached_tokens == 896 and 896 % 128 == 0
    assert common_bytes(b"abcx", b"abcyz") == 3 and common_bytes(b"", b"a") == 0


def test_the_plot_holds_every_label_and_figure():
    svg = bars([("one & two", [1.0, 2.5, 0.25])], ["a", "b", "c"])
    assert "one &amp; two" in svg and all(f"${value:.2f}" in svg for value in (1.0, 2.5, 0.25))
