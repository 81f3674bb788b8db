"""A run of the screen *Try* is a call of the operator's key: its models, its limits and its bill, and those of its teams."""

import asyncio
import contextlib
import json

import attrs
import pytest

from helmdeck_gateway import Gateway, GatewaySettings, KeyRecord, create_key, open_store
from helmdeck_gateway.accounts.changes import create_team, revoke_team
from helmdeck_gateway.stores.records import Limits, TeamRecord, to_nusd
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, make_deck
from tests.case_support import each_case
from tests.helmdeck_console.console_support import Client, ConsoleUnderTest
from tests.helmdeck_gateway.gateway_key_support import COST, PRICED, USAGE
from tests.helmdeck_gateway.gateway_support import FormatServer, upstream

PLAN = json.dumps({"steps": [{"tool": "blog.draft", "args": {"topic": "our release"}}]})


class Operator:
    """A gateway with the team support, and an operator of it in the console."""

    def __init__(self, server, tmp_path, **fields):
        options = {"requests": {"url": f"sqlite:{tmp_path / 'requests.db'}"}}
        config = {
            "providers": {"up": upstream(server)},
            "budgets": {"up/": PRICED},
            "recovery": {"backoff_s": 0, "max_wait_s": 0},
            "events": {"sinks": ["gateway", "requests"], "options": options},
        }
        self.store = open_store("memory:")
        self.deck = make_deck(model="up/m", config=config)
        team = {each: fields.pop(each) for each in ("team_limits", "team_models") if each in fields}
        record = KeyRecord(name="sue", id="", digest="", caller="sue", role="admin", team="support")
        support = TeamRecord(
            name="support", id="", limits=team.get("team_limits", Limits()), models=team.get("team_models")
        )
        self.team = asyncio.run(create_team(self.store, support))
        made = asyncio.run(create_key(self.store, attrs.evolve(record, **fields)))
        self.key = made.record
        self.client = Client(Gateway(self.deck, GatewaySettings(), store=self.store).app)
        assert self.client.sign_in(made.secret).status_code == 303

    def run(self, **fields):
        return self.client.post("/try/new", request="draft a blog post about our release", run="on", **fields)

    def spent(self, record):
        return asyncio.run(self.store.usage(record.id)).day

    @property
    def calls(self):
        self.deck.sink("requests").flush()
        from helmdeck_telemetry import Filters

        return self.deck.sink("requests").log.page(Filters()).rows


@pytest.fixture
def server():
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text=PLAN, **USAGE))) as server:
        yield server


def test_run_is_billed_to_the_key_of_the_operator_and_its_team(server, tmp_path):
    operator = Operator(server, tmp_path)
    with operator.deck:
        page = operator.client.get(operator.run().headers["location"].removeprefix("/console"))
        assert "blog.draft" in page.text
        for node in (operator.key, operator.team):
            spent = operator.spent(node)
            assert (spent.requests, spent.spent_nusd, spent.held_nusd) == (1, to_nusd(COST), 0)
        [call] = operator.calls
        assert (call.key, call.team, call.caller) == ("sue", "support", "sue")


@each_case(
    ("fields", "form", "status", "message"),
    [
        ({"models": ("fast",)}, {}, 403, "This key may not use the model &#39;helmdeck/plan&#39;; its models: fast."),
        ({"models": ("helmdeck/plan",)}, {"model": "up/n"}, 403, "This key may not use the model &#39;up/n&#39;"),
        ({"team_models": ("up/m",)}, {"model": "up/n"}, 403, "The team &#39;support&#39; of this key may not use"),
        ({"dialects": ("messages",)}, {}, 403, "This key may not use the endpoint &#39;chat&#39;"),
        ({"limits": Limits(day_nusd=1)}, {}, 402, "is limited to 1e-09 US dollars per day"),
        ({"team_limits": Limits(day_nusd=1)}, {}, 402, "The team &#39;support&#39; is limited"),
    ],
)
def test_run_beyond_a_limit_calls_no_model(fields, form, status, message, tmp_path):
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text=PLAN, **USAGE))) as server:
        operator = Operator(server, tmp_path, **fields)
        with operator.deck:
            if status == 402:
                operator.run()
                server.requests.clear()
            answer = operator.run(**form)
            assert (answer.status_code, message in answer.text) == (status, True), answer.text
            assert server.requests == []


def test_run_of_a_team_without_a_gateway_is_refused_and_operators_of_all_teams_keep_it():
    console = ConsoleUnderTest()
    sue, ada = (console.client(console.key(name, "admin", team)) for name, team in (("sue", "support"), ("ada", "")))
    refused = sue.post("/try/new", request="draft a post", run="on")
    assert (refused.status_code, "at the cost of all teams" in refused.text) == (403, True)
    assert sue.post("/try/new", request="draft a post").status_code == 303
    assert ada.post("/try/new", request="draft a post", run="on").status_code == 303


def test_operator_of_a_revoked_team_is_signed_out(server, tmp_path):
    operator = Operator(server, tmp_path)
    with operator.deck:
        token = operator.client.token()
        asyncio.run(revoke_team(operator.store, "support"))
        assert operator.run(token=token).headers["location"] == "/console/sign-in"
        assert server.requests == []
