"""The console in a real browser: Debian's Chromium, headless. A test is skipped where it is not installed."""

import asyncio
import contextlib
import re
import shutil
import threading
from pathlib import Path

import pytest
import uvicorn

from helmdeck_cli import listen
from helmdeck_console.web.charts import Bars
from helmdeck_console.web.pages import moment
from helmdeck_core import load_config
from helmdeck_testing import ChatServer, completion
from tests.helmdeck_console.console_support import HOSTILE, NOW_S, ConsoleUnderTest, example
from tests.helmdeck_console.test_screens import hostile_trace

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; install it with: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@contextlib.contextmanager
def served(app):
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/console"
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()


class Clock:
    ahead_s = 0.0

    def __call__(self):
        return NOW_S + self.ahead_s


class Upstream(ChatServer):
    """A server that waits with each answer until the test lets it."""

    def __init__(self):
        self.arrived, self.may_answer = threading.Semaphore(0), threading.Semaphore(0)
        super().__init__(lambda _: completion("nothing useful"))

    def respond(self, request):
        self.arrived.release()
        assert self.may_answer.acquire(timeout=60)
        return super().respond(request)


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    clock = Clock()
    with contextlib.closing(Upstream()) as upstream, pytest.MonkeyPatch.context() as patched:
        patched.setenv("HELMDECK_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        loaded = load_config(file=Path("/dev/null"), environ={"HELMDECK_PROVIDERS__VLLM__BASE_URL": upstream.base_url})
        under_test = ConsoleUnderTest(traces=[*example(130), hostile_trace()], now=clock, loaded=loaded)
        under_test.clock, under_test.upstream = clock, upstream
        under_test.secret = under_test.key("ada", "admin")
        under_test.key("helpdesk", team="support")
        with served(under_test.app) as url:
            under_test.url = url
            yield under_test
            for each in under_test.console.calibrations.running:  # of a test that failed
                each.task.get_loop().call_soon_threadsafe(under_test.console.calibrations.cancel, each.model)
        under_test.deck.close()
        upstream.may_answer.release(500)


@pytest.fixture
def page(browser, console):
    context = browser.new_context(viewport={"width": 1_280, "height": 900})
    context.set_default_timeout(8_000)
    shown = context.new_page()
    shown.problems = []
    shown.on("console", lambda message: shown.problems.append(message.text) if message.type == "error" else None)
    shown.on("pageerror", lambda error: shown.problems.append(str(error)))
    shown.on("dialog", lambda dialog: dialog.accept())
    shown.goto(console.url + "/sign-in")
    shown.get_by_label("Key or token with a role").fill(console.secret)
    shown.get_by_role("button", name="Sign in").click()
    shown.wait_for_url("**/console/")
    yield shown
    context.close()


def test_an_operator_filters_pages_and_opens_requests(page, console):
    page.get_by_role("link", name="Requests", exact=True).click()
    page.locator("select[name=key]").select_option("helpdesk")
    page.get_by_role("button", name="Filter").click()
    keys = page.locator("tbody tr td:nth-child(12)").all_inner_texts()
    assert keys and set(keys) == {"helpdesk"}
    page.goto(console.url + "/requests")
    first = page.locator("tbody a").first.inner_text()
    page.get_by_role("link", name="Older").click()
    page.wait_for_url("**after=*")
    assert page.locator("tbody a").first.inner_text() != first
    page.locator("tbody a").first.click()
    assert page.get_by_role("heading", name="Attempt 1").is_visible()
    assert page.locator("time").first.get_attribute("title").startswith("2026-")
    assert page.problems == []


def test_an_operator_creates_and_revokes_a_key_and_tries_a_request(page):
    page.get_by_role("link", name="Keys").click()
    form = page.get_by_role("region", name="Create a key")
    form.get_by_label("Name", exact=True).fill("browser")
    form.get_by_label("Rate", exact=True).fill("60/min")
    form.get_by_role("button", name="Create").click()
    assert page.locator("#secret").inner_text().startswith("hd-")
    page.get_by_role("link", name="Edit browser").click()
    page.get_by_role("region", name="Edit the key browser").get_by_label("Tokens per minute").fill("9000")
    page.get_by_role("button", name="Save").click()
    assert "9,000" in page.get_by_role("row").filter(has_text="browser").first.inner_text()
    page.get_by_role("button", name="Revoke browser").click()
    assert "is revoked" in page.get_by_role("status").inner_text()
    page.get_by_role("link", name="Try").click()
    page.locator("textarea[name=request]").fill("draft a blog post about our release")
    page.get_by_role("button", name="Rank and run").click()
    page.wait_for_url("**/try?id=*")
    assert page.get_by_role("heading", name="Plan", exact=True).is_visible()
    assert "blog.draft" in page.locator("ol.plan").inner_text()
    assert page.problems == []


def test_a_second_click_does_not_send_a_form_again(page, console):
    page.goto(console.url + "/keys")
    page.get_by_role("region", name="Create a key").get_by_label("Name", exact=True).fill("twice")
    prevented = page.evaluate("""() => {
        const prevented = [];
        window.addEventListener("submit", (event) => prevented.push(event.defaultPrevented));
        const button = document.querySelector("form[action$='/keys/create'] button");
        button.click();
        button.click();
        return prevented;
    }""")
    assert prevented == [False, True]
    page.get_by_role("heading", name="The key twice").wait_for()


def test_a_click_that_is_ignored_is_reported_and_esc_lets_the_next_one_through(page, console):
    page.goto(console.url + "/keys")
    seen = page.evaluate("""() => {
        const seen = [];
        window.addEventListener("submit", (event) => {
            seen.push([event.defaultPrevented, document.querySelector(".waiting")?.textContent || ""]);
            event.preventDefault();  // the page stays, as with a server that has not answered
        });
        const button = document.querySelector("form[action$='/keys/teams/create'] button");
        button.form.elements.name.value = "team";
        button.click();
        button.click();
        document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
        button.click();
        return seen;
    }""")
    ignored = "The server has not answered the first click yet. Esc stops waiting for it."
    assert seen == [[False, ""], [True, ignored], [False, ""]]


def test_an_operator_calibrates_a_model_sees_its_progress_and_cancels(page, console):
    """The upstream answers a call only when the test lets it."""
    page.clock.install()
    page.goto(console.url + "/models/one?model=vllm/m")
    page.get_by_role("button", name="Calibrate").click()
    for _ in range(2):
        assert console.upstream.arrived.acquire(timeout=60)
        console.upstream.may_answer.release()
    assert console.upstream.arrived.acquire(timeout=60)
    page.clock.run_for(3_100)
    page.get_by_text("Call 3 of at most 150: ").wait_for()
    assert page.get_by_role("progressbar").get_attribute("value") == "2"
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_load_state()
    page.clock.run_for(3_100)
    page.get_by_text("The last calibration: cancelled").wait_for()
    console.upstream.may_answer.release(500)
    page.get_by_role("button", name="Calibrate").click()
    page.wait_for_load_state()
    task = console.console.calibrations.of("vllm/m").task
    asyncio.run_coroutine_threadsafe(asyncio.wait([task]), task.get_loop()).result(60)
    page.clock.run_for(3_100)
    page.get_by_text("The last calibration: complete").wait_for()
    assert page.get_by_text("No size passed.").is_visible(), "the page is loaded again at the end"
    assert page.get_by_role("group", name="Calibration by catalog size").locator("tbody tr").count() >= 1
    assert [each.action for each in console.log.actions()][:3] == [
        "calibration started", "calibration cancelled", "calibration started",
    ]  # fmt: skip
    assert page.problems == []


def test_hostile_strings_run_no_script_and_keep_the_layout(page, console):
    page.set_viewport_size({"width": 320, "height": 800})
    for path in ("/", "/requests", "/requests/%22%3E%3Cscript%3Eid", "/models"):
        page.goto(console.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
        assert page.locator("img").count() == 0
    page.goto(console.url + "/requests")
    assert page.locator("tbody").get_by_text(HOSTILE[:24]).first.is_visible()
    assert page.problems == []


def test_the_keyboard_alone_reaches_everything(page, console):
    page.goto(console.url + "/keys")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.name || document.activeElement.innerText"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
        if "Create" in reached:
            break
    assert {"name", "role", "models", "month", "Create"} <= reached


def test_now_updates_by_itself_and_says_that_the_session_has_ended(page, console):
    page.clock.install()
    page.goto(console.url + "/")
    page.evaluate("window.kept = true")
    with page.expect_response(re.compile("/console/$")):
        page.clock.run_for(6_000)
    assert page.evaluate("window.kept")
    console.clock.ahead_s = 13 * 3_600.0
    with page.expect_response(re.compile("/console/$")):
        page.clock.run_for(6_000)
    page.clock.run_for(200)
    page.get_by_text("The session has ended.").wait_for()
    console.clock.ahead_s = 0.0


def test_times_of_tables_and_charts_are_those_of_the_reader(browser, console):
    context = browser.new_context(timezone_id="Asia/Kolkata", locale="en-US", viewport={"width": 375, "height": 800})
    page = context.new_page()
    page.clock.set_fixed_time("2026-11-24T20:00:00Z")
    page.goto(console.url + "/sign-in")
    midnight_s = 1_795_478_400
    times = [str(moment(midnight_s * 1_000_000)), str(moment((midnight_s + 67_500) * 1_000_000))]
    charts = [
        Bars(starts=[midnight_s], series={}, label_every_s=86_400, form=form, title="attempts").svg()
        for form in ("minute", "day")
    ]
    page.locator("main").evaluate(
        "(main, parts) => { main.innerHTML = parts; localTimes(main); }", "".join([*times, *charts])
    )
    assert page.locator("main time").all_text_contents() == ["2026-11-24 05:30:00", "00:15:00"]
    assert page.locator("[data-time]").all_text_contents() == ["05:30", "11-24 05:30"]
    assert page.locator(".chart").first.bounding_box()["width"] >= 880, "its texts stay readable on a phone"
    context.close()


def test_live_updates_wait_for_a_slow_server_and_report_it(page, console):
    held = []
    page.clock.install()
    page.route(
        "**/console/", lambda route: held.append(route) if "x-live" in route.request.headers else route.continue_()
    )
    page.goto(console.url + "/")
    with page.expect_request(lambda request: "x-live" in request.headers):
        page.clock.run_for(5_000)
    page.clock.run_for(10_000)
    page.get_by_text("The server has not answered yet").wait_for()
    assert len(held) == 1
    held[0].fulfill(body='<div id="live">new figures</div>', content_type="text/html")
    page.get_by_text("new figures").wait_for()
    assert page.locator("#lost").is_hidden()
    with page.expect_request(lambda request: "x-live" in request.headers):
        page.clock.run_for(5_000)
    page.clock.run_for(30_000)
    page.get_by_text("The server does not answer").wait_for()
    assert len(held) == 2


def test_colours_follow_the_system_and_the_switch(browser, page, console):
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name="Auto").click()
    page.wait_for_load_state()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
