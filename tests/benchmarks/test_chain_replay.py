"""The replay of the chains benchmark: one model's answers serve all policies, and each policy pays for what it asked."""

import json

from benchmarks.chains.replay import KINDS, SETTINGS, replay, table
from helmdeck_testing import chat_server, completion


def test_replayed_policies_get_the_same_answers_and_pay_for_what_they_asked() -> None:
    with chat_server(lambda _: completion("no JSON", prompt_tokens=100, completion_tokens=5)) as weak:
        found = replay(weak.base_url, "weak", 3)
        sent = [json.dumps(each.body, sort_keys=True) for each in weak.requests]
    assert len(sent) == sum(each["real"]["calls"] for each in found["settings"].values())
    for setting, (_, kinds) in SETTINGS.items():
        own = found["settings"][setting]
        assert own["real"]["replayed"] > 0
        assert own["real"]["prompt_tokens"] == 100 * own["real"]["calls"]
        for kind in kinds:
            fixed, cheapest = own["kinds"][kind]["fixed"], own["kinds"][kind]["cheapest first"]
            # The weak model gives nothing usable, so it only adds its cost to that of the models behind it.
            assert (fixed["usable"], fixed["right"]) == (cheapest["usable"], cheapest["right"]) == (3, 3)
            assert fixed["first"]["mid"] == cheapest["first"]["weak"] == 1
            assert 0 < fixed["cost_per_usable"] < cheapest["cost_per_usable"]
    assert table(found).count("| adaptive | 3 | 100% | 100% |") == len(KINDS) + 1
