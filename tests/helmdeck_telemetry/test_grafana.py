import json
import re
from pathlib import Path

from helmdeck_gateway.accounts.key_counters import KeyCounters
from helmdeck_gateway.http_server.counters import Counters
from tests.helmdeck_telemetry.observing_support import eventful_deck, eventful_plan

FILE = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "helmdeck.json"


def test_dashboard_of_grafana_asks_for_metrics_and_labels_that_exist():
    dashboard = json.loads(FILE.read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    keys, counters = KeyCounters(), Counters()
    keys.admit("a")
    keys.refuse("a", "rate")
    counters.count("chat", 200)
    with eventful_deck("prometheus") as deck:
        eventful_plan(deck)
        text = deck.sink("prometheus").render().decode() + keys.render() + counters.render()
    known = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) | {"helmdeck_gateway_key_spend_usd_total"}
    for expression in expressions:
        names = re.findall(r"helmdeck_\w+", expression)
        assert names, expression
        assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in names} <= known, expression
        for label in re.findall(r"(\w+)!?=\"", expression):
            assert re.search(rf"{names[0]}\{{[^}}]*\b{label}=", text), expression
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"]) >= 12
