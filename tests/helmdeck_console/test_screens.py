"""What the screens show, and that nothing which they show can be more than text."""

import contextlib
import html
import json
import re
import time
from urllib.parse import quote

import pytest

from helmdeck_console.demo.console import example_console
from helmdeck_console.screens.models import MAX_ROWS
from helmdeck_console.screens.now import PERIODS, content
from helmdeck_console.web.charts import Bars, TimelineBar, timeline
from helmdeck_console.web.pages import share, usd
from helmdeck_core import CallTrace, ConsoleScreen, ScreenPage, ScreenTable
from helmdeck_telemetry import RecordedTexts, RequestLog
from helmdeck_testing import plugin_with
from tests.databases_support import postgres_schema
from tests.helmdeck_console.console_support import HOSTILE, NOW_S, Client, ConsoleUnderTest, example

SCREENS = ("/", "/requests", "/models", "/keys", "/try", "/plugins")


@pytest.fixture(scope="module")
def demo():
    from starlette.applications import Starlette
    from starlette.routing import Mount

    console = example_console(count=120)
    yield Client(Starlette(routes=[Mount("/console", app=console)]))
    console.sources.deck.close()


def test_every_screen_of_the_demo_is_html_with_a_policy_and_without_inline_code(demo):
    for path in SCREENS:
        response = demo.get(path)
        assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        policy = response.headers["content-security-policy"]
        assert "unsafe-inline" not in policy and "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert not re.search(r"<style|<script(?! src)| style=| on\w+=|https?://(?!www.w3.org)", response.text), path


def test_the_demo_refuses_pages_of_another_host(demo):
    other = Client(demo.http.app, "http://evil.example")
    assert other.get("/").status_code == 403


def test_now_sums_up_the_recorded_requests():
    console = ConsoleUnderTest(traces=example(60))
    shown = content(console.deck, console.log, PERIODS[0], now_s=NOW_S)
    assert shown["figures"].requests == 60
    assert sum(count for _, count in shown["legend"]) == sum(sum(counts) for _, counts in shown["rows"]) >= 60
    assert shown["chart"].count("<rect") >= 10


@pytest.mark.parametrize(
    ("count", "labels"),
    [
        (3, ["0", "2", "4"]),
        (9_000, ["0", "5,000", "10k"]),
        (90_000, ["0", "50k", "100k"]),
        (3_100_000, ["0", "2M", "4M"]),
    ],
)
def test_the_axis_of_a_chart_has_numbers_that_fit_beside_it(count, labels):
    bars = Bars(starts=[0], series={"usable": [count]}, label_every_s=60, form="minute", title="attempts")
    assert re.findall(r'text-anchor="end">([^<]+)<', bars.svg()) == labels


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (0.02, ["0 ms", "5 ms", "10 ms", "15 ms", "20 ms"]),
        (2.0, ["0 ms", "500 ms", "1.0 s", "1.5 s", "2.0 s"]),
        (14_400.0, ["0 ms", "60.0 min", "2.0 h", "3.0 h", "4.0 h"]),
    ],
)
def test_the_axis_of_a_timeline_has_durations_as_the_page_has(seconds, labels):
    bar = TimelineBar(label="1. acme/m", start_s=0.0, end_s=seconds, kind="ok")
    picture = timeline([bar], seconds, "attempts")
    assert re.findall(r">([^<]+)</text>", picture) == [*labels, "1. acme/m", labels[-1]]
    assert float(re.search(r'<rect class="ok" x="([0-9.]+)"', picture)[1]) < 100, (
        "short labels leave a phone room for bars"
    )


def test_no_share_is_rounded_to_all_or_nothing():
    assert [share(each) for each in (0.0, 0.0004, 0.5, 0.9999, 1.0)] == ["0 %", "<0.1 %", "50 %", "99.9 %", "100 %"]


def test_requests_are_filtered_paged_and_exported():
    console = ConsoleUnderTest(traces=example(120), open_role="viewer", is_always_open=True)
    client = console.client()
    first = client.get("/requests").text
    after = re.search(r'rel="next" href="\?after=([^"]+)"', first)[1]
    second = client.get(f"/requests?after={after}").text
    links = [re.findall(r"/console/requests/([0-9a-f]{16})", text) for text in (first, second)]
    assert [len(each) for each in links] == [50, 50] and not {*links[0]} & {*links[1]}
    team = client.get("/requests.json?key=helpdesk").json()
    assert team and {row["key"] for row in team} == {"helpdesk"}
    assert len(client.get("/requests.csv").text.splitlines()) == 121
    assert client.get("/requests?id=" + links[0][7][:10]).text.count("<tr>") == 2
    assert client.get("/requests?from=yesterday").status_code == 422
    assert "hour, day, week, month" in client.get("/requests.csv?since=decade").text
    for text in ("2026-11-24T09:30", "2026-11-24T09:30Z", "20261124T0930", "2026-11-24T15:00%2B05:30"):
        assert 'name="from" value="2026-11-24T09:30"' in client.get(f"/requests?from={text}").text
    assert 'name="to" value="2026-11-24T09:30:20"' in client.get("/requests?to=2026-11-24T09:30:20").text
    assert client.get("/requests?to=0001-01-01T00:00%2B23:59").status_code == 422
    assert client.get("/requests.json?since=month&from=2999-01-01T00:00").json() == []


def test_a_request_shows_its_attempts_with_cause_decision_and_trim_steps():
    traces = list(example(200))
    trace = next(each for each in traces if len([e for e in each.events if e["event"] == "attempt_ended"]) > 1)
    page = (
        ConsoleUnderTest(traces=traces, open_role="viewer", is_always_open=True)
        .client()
        .get(f"/requests/{trace.call_id}")
    )
    outcomes = [event["outcome"] for event in trace.events if event["event"] == "attempt_ended"]
    assert outcomes[0]["cause"] in page.text and outcomes[0]["then"] in page.text
    assert f"helmdeck explain --run {trace.call_id}" in page.text
    assert page.text.count('class="card attempt"') == len(outcomes)


def called(model, time_s, tokens=1):
    outcome = {"model": model, "latency_s": 0.1, "usage": {"input_tokens": tokens}}
    events = (
        {"event": "call_started", "at_s": 0.0, "model": model, "attempt": 1},
        {"event": "attempt_ended", "at_s": 0.1, "outcome": outcome, "attempt": 1},
        {"event": "call_completed", "at_s": 0.1, "model": model, "latency_s": 0.1},
    )
    return CallTrace(
        call_id="of " + model.replace("/", " "),
        time=time_s,
        pack="",
        caller="",
        model=model,
        outcome="answered",
        events=events,
    )


def hostile_trace():
    place = {"attempt": 1}
    events = (
        {"event": "call_started", "at_s": 0.0, "model": HOSTILE, **place},
        {"event": "request_received", "at_s": 0.0, "key": HOSTILE, "request_id": HOSTILE, **place},
        {"event": "catalog_selected", "at_s": 0.0, "record": {"before_bytes": 9, "after_bytes": 1, "dropped": [HOSTILE]}, **place},
        {"event": "request_sent", "at_s": 0.0, "model": HOSTILE, "variant": HOSTILE, "changed": [HOSTILE], "tier": HOSTILE, **place},
        {"event": "stop_reason_observed", "at_s": 0.1, "raw_stop_reason": HOSTILE + "x" * 2_000_000, "stop_reason": "end_turn", **place},
        {"event": "filter_failed", "at_s": 0.1, "detail": HOSTILE, "filter_model": HOSTILE, **place},
        {"event": "attempt_ended", "at_s": 0.2, "outcome": {"model": HOSTILE, "cause": HOSTILE, "then": HOSTILE, "usage": {"input_tokens": 1}}, **place},
        {"event": "call_exhausted", "at_s": 0.2, "cause": HOSTILE, "latency_s": 0.2, **place},
    )  # fmt: skip
    return CallTrace(
        call_id='"><script>id', time=NOW_S, pack=HOSTILE, caller=HOSTILE, model=HOSTILE, outcome=HOSTILE, events=events
    )


def test_hostile_strings_are_shown_as_text():
    console = ConsoleUnderTest(traces=[hostile_trace()], open_role="admin", is_always_open=True, now=lambda: NOW_S)
    client = console.client()
    path = "/requests/%22%3E%3Cscript%3Eid"
    assert "texts = true" in client.get(path).text
    texts = RecordedTexts(call_id='"><script>id', attempt=1, request=HOSTILE, answer=f"</pre>{HOSTILE}")
    console.log.add_texts([texts])
    assert "&lt;/pre&gt;" in client.get(path).text
    viewer = console.key("viewer", "viewer")
    assert "&lt;/pre&gt;" not in console.client(viewer).get(path).text
    made = client.post("/try/new", request=f"draft a post {HOSTILE}", document=HOSTILE)
    pages = [
        "/",
        "/requests",
        "/requests/%22%3E%3Cscript%3Eid",
        "/models",
        "/keys",
        made.headers["location"].removeprefix("/console"),
    ]
    for path in [
        *pages,
        f"/models/one?model={HOSTILE}",
        f"/requests?model={HOSTILE}",
        f"/keys?done=revoked&subject={HOSTILE}",
    ]:
        response = client.get(path)
        assert response.status_code in (200, 404), path
        assert "<script>" not in response.text and "<img" not in response.text, path
        assert "\u202e" not in re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", response.text, flags=re.S), path
        assert len(response.content) < 500_000, path
    assert "&lt;script&gt;alert(2)" in client.get("/requests").text
    assert json.loads(client.get("/requests.json").text)[0]["model"] == HOSTILE


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_value_of_a_filter_has_a_page_and_an_export_has_all_filters(kind, tmp_path):
    console = ConsoleUnderTest(open_role="viewer", is_always_open=True)
    with contextlib.ExitStack() as stack:
        url = f"sqlite:{tmp_path / 'r.db'}"
        if kind == "postgresql":
            url = stack.enter_context(postgres_schema())[0]
        console.log = stack.enter_context(contextlib.closing(RequestLog.open(url)))
        console.log.add(list(example(12)))
        client = console.client()
        for query in (
            "id=%00",
            "model=%00",
            "key=a%00",
            "cause=%00",
            "id=x&after=5-%00",
            "after=999999999999999999-%00",
        ):
            for path in ("/requests", "/requests.json", "/requests.csv"):
                assert client.get(f"{path}?{query}").status_code == 200, (path, query)
        rows = client.get("/requests.json").json()
        one = rows[0]
        for name in ("model", "key", "outcome"):
            own = client.get(f"/requests.json?id={one['call_id']}&{name}={one[name]}").json()
            assert [each["call_id"] for each in own] == [one["call_id"]]
            assert client.get(f"/requests.json?id={one['call_id']}&{name}=other").json() == []


def test_a_database_that_cannot_be_used_is_reported_by_every_page_and_export(tmp_path):
    (tmp_path / "r.db").write_bytes(b"not a database" * 100)
    console = ConsoleUnderTest(open_role="viewer", is_always_open=True)
    with contextlib.closing(RequestLog.open(f"sqlite:{tmp_path / 'r.db'}")) as console.log:
        client = console.client()
        for path in ("/", "/requests", "/requests/x", "/requests.csv", "/requests.json", "/models", "/try?id=x"):
            page = client.get(path)
            assert page.status_code == 503 and "file is not a database" in page.text, path


def test_keys_are_revoked_and_requests_tried_while_the_request_log_cannot_be_used(tmp_path):
    (tmp_path / "r.db").write_bytes(b"not a database" * 100)
    console = ConsoleUnderTest()
    console.key("bob")
    with contextlib.closing(RequestLog.open(f"sqlite:{tmp_path / 'r.db'}")) as console.log:
        client = console.client(console.key("ada", "admin"))
        assert client.post("/keys/revoke", name="bob").status_code == 303
        page = client.get("/keys?done=revoked&subject=bob")
        assert page.status_code == 200 and "bob is revoked. Workers refuse it" in page.text
        assert "file is not a database" in page.text, "the audit log reports what is missing"
        tried = client.post("/try/new", request="draft a blog post", run="on")
        assert tried.status_code == 200 and "Candidates" in tried.text and ">Plan</h2>" in tried.text
        assert "is not stored under a link: " in tried.text and "file is not a database" in tried.text


def test_filter_reports_that_it_lists_some_of_its_values():
    traces = [called(f"up/{number:03}", NOW_S) for number in range(201)]
    console = ConsoleUnderTest(traces=traces, open_role="viewer", is_always_open=True)
    page = console.client().get("/requests").text
    assert "Not all values are listed: Model has more (<code>?model=VALUE</code> in the URL takes any)." in page
    few = ConsoleUnderTest(traces=traces[1:], open_role="viewer", is_always_open=True)
    assert "Not all values are listed" not in few.client().get("/requests").text


def test_cells_of_an_export_are_no_formulas():
    trace = next(iter(example(1)))
    console = ConsoleUnderTest(
        traces=[CallTrace(**{**trace.to_dict(), "caller": "=HYPERLINK(1)"})], open_role="viewer", is_always_open=True
    )
    assert ",'=HYPERLINK(1)," in console.client().get("/requests.csv").text


def test_a_tried_request_shows_candidates_prompt_and_plan_under_a_link():
    client = ConsoleUnderTest(open_role="admin", is_always_open=True).client()
    link = client.post("/try/new", request="draft a blog post about our release", run="on").headers["location"]
    page = client.get(link.removeprefix("/console"))
    for part in (
        "blog.draft",
        "Ranked by lexical",
        "full_steps",
        "planned by local/lexical",
        "no usage reported",
        "&#34;packs&#34;",
    ):
        assert part in page.text, part
    prompt = client.get("/try/prompt?" + link.partition("?")[2]).json()
    assert [each["role"] for each in prompt["messages"]] == ["system", "user"]
    assert client.post("/try/new", request="  ").status_code == 422
    assert client.get("/try?id=unknown").status_code == 404


def test_forms_send_the_texts_back_that_they_were_opened_with():
    """Long texts, and characters that pages replace where they show a text."""
    console = ConsoleUnderTest(traces=[hostile_trace()], open_role="admin", is_always_open=True)
    client, document = console.client(), f"\nfirst line {HOSTILE}{'x' * 9_000}"
    sent = document.replace("\n", "\r\n")
    link = client.post("/try/new", request="draft a post about it", document=sent).headers["location"]
    page = client.get(link.removeprefix("/console")).text
    assert [html.unescape(each) for each in re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.S)] == [
        "draft a post about it", document,
    ]  # fmt: skip
    [model] = re.findall(r'<option value="([^"]+)"', client.get("/requests").text.partition('name="model"')[2])[:1]
    assert client.get(f"/requests?model={quote(html.unescape(model))}").text.count("<tr>") == 2


def test_a_screen_of_a_plugin_is_shown_as_text():
    def read(context):
        return ScreenPage(
            texts=(HOSTILE, context.team), tables=(ScreenTable(headings=(HOSTILE,), rows=((HOSTILE,), (7,))),)
        )

    screens = [ConsoleScreen(name="shifts", title="Shifts", read=read)]
    console = ConsoleUnderTest(plugin_with(helmdeck_console_screens=screens), open_role="viewer", is_always_open=True)
    page = console.client().get("/shifts")
    assert page.status_code == 200 and "<script>" not in page.text
    assert '<td class="n">7</td>' in page.text and 'href="/console/shifts" aria-current="page"' in page.text


def test_a_screen_that_returns_no_page_is_reported():
    screens = [ConsoleScreen(name="shifts", title="Shifts", read=lambda _: "a text")]
    console = ConsoleUnderTest(plugin_with(helmdeck_console_screens=screens), open_role="viewer", is_always_open=True)
    assert console.client().get("/shifts").status_code == 500


def test_the_page_of_a_model_has_its_figures_however_many_models_there_are():
    now_s = time.time()
    console = ConsoleUnderTest(
        traces=[called(f"acme/m{index}", now_s) for index in range(MAX_ROWS + 1)],
        open_role="viewer",
        is_always_open=True,
    )
    client = console.client()
    page = client.get("/models").text
    assert "The 200 most used of 202 models" in page
    last = next(each for each in (f"acme/m{index}" for index in range(MAX_ROWS + 1)) if f'model={each}"' not in page)
    assert "<dt>Attempts</dt><dd>1</dd>" in client.get(f"/models/one?model={last}").text


def test_the_cost_of_a_model_without_a_price_is_unknown():
    traces = [called("acme/m", NOW_S), called("local/lexical", NOW_S, tokens=0)]
    console = ConsoleUnderTest(traces=traces, open_role="viewer", is_always_open=True)
    client = console.client()
    shown = content(console.deck, console.log, PERIODS[0], now_s=NOW_S + 1)
    assert {figures.model: cost for figures, cost in shown["models"]} == {"acme/m": None, "local/lexical": 0.0}
    pages = [
        client.get(path).text for path in ("/requests", "/requests/of%20acme%20m", "/requests/of%20local%20lexical")
    ]
    assert ["unknown" in page for page in pages] == [True, True, False]
    assert "<dd>unknown <small>1 attempts without" in pages[1] and "unknown price" in pages[1]
    assert "no usage reported" in pages[2]
    assert [usd(each) for each in (None, 0.0, 4e-9, 0.000_02, 0.25, 1_234.5)] == [
        "–", "$0", "<$0.000001", "$0.000020", "$0.2500", "$1,234.50",
    ]  # fmt: skip


def test_configuration_shows_plugins_settings_and_findings():
    client = ConsoleUnderTest(open_role="viewer", is_always_open=True).client()
    page = client.get("/plugins?settings=all&check=1")
    assert "selection.ranker" in page.text and "lexical" in page.text and "Findings" in page.text


def test_a_console_without_records_says_how_to_record():
    console = ConsoleUnderTest(open_role="viewer", is_always_open=True)
    console.log = None
    for path in ("/", "/requests"):
        assert (
            "sinks = [&#34;requests&#34;]" in console.client().get(path).text
            or 'sinks = ["requests"]' in console.client().get(path).text
        )
    assert console.client().get("/models").status_code == 200
    assert console.client().get("/requests.csv").status_code == 404
