"""The benchmark of real models: its cases, counts and scores are those that its page describes. No model is called."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.weak_models import __main__ as command
from benchmarks.weak_models import long_output, page, picking, plans, report, schedule, tasks, typed
from benchmarks.weak_models.cases import Labelled, Pool, RequestsError, pick_cases, read_requests, sample, sized
from benchmarks.weak_models.proxy import SEEDS_APART, proxied
from benchmarks.weak_models.results import Result, ResultFile, compare, interval, sums, wilson
from benchmarks.weak_models.schedule import Cell, Schedule, Unavailable
from benchmarks.weak_models.session import Found
from helmdeck_selection import read_catalog
from helmdeck_testing import chat_server, completion


def catalog(*names: str, prefix: str = "tool", count: int = 0):
    rows = [*names, *(f"{prefix}{number}" for number in range(count))]
    return read_catalog({"packs": [{"name": name, "description": f"does {name}"} for name in rows]}, "test")


def result(case: str, *, way: str = "helped", run: int = 1, **values: object) -> Result:
    return Result(task="pick_50", way=way, case=case, run=run, **values)


# -- requests and catalogs -------------------------------------------------------------------------------


def requests_file(folder, *lines: str):
    folder.joinpath("tools").mkdir(parents=True)
    (folder / "tools" / "catalog.json").write_text('[{"name": "send"}, {"name": "read"}]', encoding="utf-8")
    path = folder / "requests.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


GOOD = '{"request": "send it", "tools": ["send"], "catalog": "tools/catalog.json"}'


def test_requests_are_read_with_catalogs_relative_to_their_file(tmp_path):
    pool = read_requests(requests_file(tmp_path, GOOD, "", GOOD.replace('["send"]', '"read"')))
    assert [each.tools for each in pool.requests] == [{"send"}, {"read"}]
    assert len(pool.catalogs["tools/catalog.json"]) == 2


def test_unknown_tools_are_left_out_beside_known_ones_and_catalogs_are_found_from_the_working_directory(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = requests_file(tmp_path / "deeper", GOOD.replace('["send"]', '["send", "post"]'))
    (tmp_path / "deeper" / "tools").rename(tmp_path / "tools")
    (found,) = read_requests(path).requests
    assert found.tools == {"send"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: not JSON: Expecting property name"),
        ("[]", "line 2: a line is one JSON object"),
        (GOOD.replace("send it", " "), 'line 2: "request" must be a non-empty string'),
        (GOOD.replace('["send"]', "[]"), 'line 2: "tools" must be a list'),
        (GOOD.replace('["send"]', '["post"]'), "line 2: the catalog tools/catalog.json has no tool 'post'"),
        (GOOD.replace("tools/catalog", "nowhere"), "line 2: .*nowhere.json"),
        (GOOD.replace('"tools/catalog.json"', "3"), 'line 2: "catalog" must be the path'),
    ],
)
def test_unreadable_line_of_requests_is_named(tmp_path, line, problem):
    with pytest.raises(RequestsError, match=problem):
        read_requests(requests_file(tmp_path, GOOD, line))


@pytest.mark.parametrize("size", [3, 10, 40])
def test_catalog_of_a_size_keeps_the_right_tools_and_is_always_the_same(size):
    whole, others = catalog("right", count=20), [catalog(prefix="other", count=30)]
    found = sized(whole, frozenset({"right"}), size, others)
    names = [entry.id for entry in found.entries]
    assert len(names) == size and "right" in names and len(set(names)) == size
    assert sized(whole, frozenset({"right"}), size, others).version == found.version


def test_catalog_stays_smaller_where_nothing_is_left_to_fill_it():
    assert len(sized(catalog("right"), frozenset({"right"}), 50, [catalog("right", "more")])) == 2


def test_requests_of_one_catalog_share_it_while_their_right_tools_fit():
    pool = Pool(
        [Labelled(f"use {number}", frozenset({f"tool{number}"}), "a") for number in range(6)], {"a": catalog(count=20)}
    )
    cases = pick_cases(pool, pool.requests, 4, [])
    assert all(case.tools <= {entry.id for entry in case.catalog.entries} for case in cases)
    assert [len(case.catalog) for case in cases] == [4] * 6
    assert len({case.catalog.version for case in cases}) == 2


@given(st.integers(1, 30), st.integers(1, 40))
def test_sample_takes_catalogs_in_turn(count, most):
    requests = [Labelled(f"{name} {number}", frozenset({"x"}), name) for name in "ab" for number in range(count)]
    found = sample(requests, most)
    assert len(found) == min(most, 2 * count) == len(set(found)) and found == sample(requests[::-1], most)
    of_a = sum(each.catalog == "a" for each in found)
    assert abs(2 * of_a - len(found)) <= 1


# -- answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "cause"),
    [
        ('{"tool": "send"}', "send", ""),
        ('```json\n{"tool": "send"}\n```', "send", ""),
        ('I would use {"tool": "send"}', None, "no JSON"),
        ('{"name": "send"}', None, "JSON without a tool"),
        ("", None, "empty answer"),
    ],
)
def test_raw_answer_is_read_as_json_alone_or_in_a_fence(text, value, cause):
    found = picking.read_tool(text)
    assert (found.value, found.cause) == (value, cause)


def test_pick_outside_the_catalog_is_valid_and_invented():
    pool = Pool([Labelled("send", frozenset({"send"}), "a")], {"a": catalog("send", "read")})
    (case,) = pick_cases(pool, pool.requests, 2, [])
    assert picking.judge(case, Found(value="post"))["invented"]
    assert picking.judge(case, Found(value="read")) == {
        "valid": True,
        "right": False,
        "invented": False,
        "cause": "wrong tool",
        "detail": {"set": "a"},
    }
    assert picking.judge(case, Found(value="send"))["right"]
    assert picking.judge(case, Found(cause="no JSON"))["cause"] == "no JSON"


def test_native_tools_have_allowed_and_distinct_names():
    tools, ids = picking.native_tools(catalog("a.b", "a b", "中文", "x" * 70))
    names = [each["function"]["name"] for each in tools]
    assert len(set(names)) == 4 and list(ids.values()) == ["a.b", "a b", "中文", "x" * 70]
    assert all(len(name) <= 64 and name.replace("_", "a").replace("-", "a").isalnum() for name in names)


def test_texts_for_typed_answers_contain_their_values():
    cases = typed.load()
    assert len(cases) == 100 and {case.kind for case in cases} == set(typed.SCHEMAS)
    for case in cases:
        assert typed.judge(case, Found(value=case.expected))["right"], case.id


def test_typed_answer_with_another_value_is_valid_and_not_right():
    case = next(case for case in typed.load() if case.kind == "order")
    items = [{**case.expected["items"][0], "quantity": 999}, *case.expected["items"][1:]]
    judged = typed.judge(case, Found(value={**case.expected, "items": items}))
    assert judged["valid"] and not judged["right"]
    assert judged["detail"]["right_fields"] == judged["detail"]["fields"] - 1
    assert not typed.judge(case, Found(value={"customer": 3})).get("valid")


def test_plan_is_right_with_the_tools_in_order_and_the_stated_arguments():
    cases, known = plans.load(), plans.catalog()
    assert len(cases) == 60 and all(2 <= len(case.steps) <= 4 for case in cases)
    assert all(known.get(step["tool"]) for case in cases for step in case.steps)
    case = next(case for case in cases if case.steps[-1].get("args", {}).get("to"))
    steps = [{"tool": step["tool"], "args": step.get("args", {})} for step in case.steps]
    assert plans.judge(case, Found(value=steps))["right"]
    assert plans.judge(case, Found(value=steps[::-1]))["cause"] == "other order"
    assert plans.judge(case, Found(value=[{**step, "args": {}} for step in steps]))["cause"] == "other arguments"
    assert plans.judge(case, Found(value=[*steps, {"tool": "no.such", "args": {}}]))["invented"]


def test_story_that_repeats_a_passage_is_damaged():
    passage = "one two three four five six seven eight nine ten eleven twelve "
    assert long_output.repetition("It began. " + passage * 2) and not long_output.repetition("It began. " + passage)
    limits = {case.limit for case in long_output.load()}
    assert limits == set(long_output.LIMITS) and len(long_output.load()) == 40


# -- sums ------------------------------------------------------------------------------------------------


def test_wilson_interval_has_known_values():
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_repeated_runs_do_not_narrow_the_interval():
    assert interval(24, 30, 10) == pytest.approx(wilson(8, 10))


def test_ways_are_compared_on_the_requests_that_both_measured():
    helped = [result("a", right=True), result("b", right=True), result("c", right=True)]
    other = [result("a", way="raw"), result("b", way="raw", right=True)]
    found = compare(helped, other)
    assert (found["requests"], found["better"], found["worse"], found["p_below"]) == (2, 1, 0, 1.0)
    assert compare(other, helped)["p_below"] == 0.5 and compare(helped, helped)["above"] == 0.0
    # Nine requests more and one fewer of 100: 8 points, less 1.645 standard errors of the paired differences.
    ones = [result(str(each), right=each < 9) for each in range(100)]
    others = [result(str(each), way="raw", right=each == 99) for each in range(100)]
    beside = compare(ones, others)
    assert (beside["difference"], beside["above"]) == (0.08, 0.0297)


def test_interrupted_measurement_is_continued(tmp_path):
    path = tmp_path / "results.jsonl"
    ResultFile(path, resume=False).add(result("a", right=True, calls=2))
    with path.open("a") as out:
        out.write('{"task": "pick_5')
    found = ResultFile(path, resume=True)
    assert list(found.results.values()) == [result("a", right=True, calls=2)]
    assert not ResultFile(path, resume=False).results


# -- schedule --------------------------------------------------------------------------------------------


class Clock:
    """A clock that each case advances by one second."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def measured(clock: Clock, cells: dict[str, float], *, cases: int, ends_at: float | None) -> dict[str, int]:
    """Return how many cases of one second each cell measures, by the weights of the cells."""
    file = ResultFile(None, resume=False)

    class Way:
        def __init__(self, way: str) -> None:
            self.way = way

        def __enter__(self):
            if self.way == "missing":
                raise Unavailable("not installed")
            return self.measure

        def __exit__(self, *_: object) -> None:
            pass

        def measure(self, place: int, run: int) -> Result:
            clock.now += 1
            return result(str(place), way=self.way, run=run)

    plan = Schedule(results=file, request_s=9.0, set_limit=lambda _: None, ends_at=ends_at)
    ids = [str(number) for number in range(cases)]
    plan.run(
        [
            Cell(task="pick_50", way=way, case_ids=ids, runs=1, open=lambda way=way: Way(way), weight=weight)
            for way, weight in cells.items()
        ]
    )
    return {way: len(file.of("pick_50", way)) for way in cells} | dict.fromkeys(plan.unavailable, -1)


def test_limited_time_is_shared_out_by_weight_and_missing_ways_leave_theirs(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(schedule, "time", clock)
    found = measured(clock, {"missing": 1.0, "raw": 1.0, "helped": 3.0}, cases=100, ends_at=40.0)
    assert found == {"missing": -1, "raw": 10, "helped": 30}


def test_cell_that_calls_no_model_is_complete_and_unused_time_is_left_to_the_next(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(schedule, "time", clock)
    found = measured(clock, {"ranker": 0.0, "raw": 1.0, "helped": 1.0}, cases=5, ends_at=20.0)
    assert found == {"ranker": 5, "raw": 5, "helped": 5}
    clock.now = 0.0
    assert measured(clock, {"raw": 1.0, "helped": 1.0}, cases=9, ends_at=None) == {"raw": 9, "helped": 9}


def test_no_case_begins_when_the_time_is_over(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(schedule, "time", clock)
    assert measured(clock, {"ranker": 0.0, "raw": 1.0}, cases=5, ends_at=2.0) == {"ranker": 5, "raw": 0}


def test_way_that_no_time_is_left_for_is_not_opened(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(schedule, "time", clock)
    assert measured(clock, {"missing": 1.0}, cases=5, ends_at=2.0) == {"missing": 0}


def test_ways_of_helmdeck_are_measured_before_the_raw_prompt_and_other_programs():
    of_task = tasks.make_tasks(["pick", "typed"], Pool([], {}), tasks.QUICK)
    cells = sorted((cell for task in of_task for cell in task.cells(None, None)), key=lambda cell: cell.rank)
    ways = [cell.way for cell in cells]
    last = max(place for place, way in enumerate(ways) if way in tasks.FIRST)
    assert set(ways[: last + 1]) == set(tasks.FIRST) and ways[last + 1] == "raw" and ways[-1] == "typed_gguf"


def test_ranker_is_reported_on_the_requests_that_helmdeck_measured():
    file = ResultFile(None, resume=False)
    for each in (result("a"), result("a", way="ranker", right=True), result("b", way="ranker", right=True)):
        file.add(each)
    found = command.report(file, [("pick_50", "helped"), ("pick_50", "ranker")], {})["pick_50"]
    assert found["ranker"]["n"] == found["helped"]["n"] == 1


# -- proxy -----------------------------------------------------------------------------------------------


def test_proxy_sets_seed_and_temperature_and_counts_calls_and_tokens():
    with chat_server(lambda body: completion("hi")) as server, proxied(server.base_url) as proxy:
        window = proxy.begin(seed=2, temperature=0.2, seconds=60)
        url = f"{proxy.base_url}/chat/completions"
        for _ in range(2):
            answer = httpx.post(url, json={"messages": [], "seed": 9, "temperature": 1}, trust_env=False)
            assert answer.status_code == 200
        bodies = [request.body for request in server.requests]
    assert [(body["seed"], body["temperature"]) for body in bodies] == [(2, 0.2), (2 + SEEDS_APART, 0.2)]
    usage = answer.json()["usage"]
    assert (window.calls, window.prompt_tokens) == (2, 2 * usage["prompt_tokens"])
    assert window.output_tokens == 2 * usage["completion_tokens"] and window.statuses == [200, 200]


def test_proxy_refuses_requests_after_the_time_of_a_case():
    with chat_server(lambda body: completion("hi")) as server, proxied(server.base_url) as proxy:
        window = proxy.begin(seed=1, temperature=0.2, seconds=0)
        answer = httpx.post(f"{proxy.base_url}/chat/completions", json={"messages": []}, trust_env=False)
        assert not server.requests
    assert answer.status_code == 400 and "time" in answer.json()["error"]["message"]
    assert window.is_late and window.calls == 0


# -- page ------------------------------------------------------------------------------------------------


def measured_report(*, right: int) -> dict:
    each = sums(
        [
            result(str(number), valid=True, right=number < right, cause="" if number < right else "wrong tool")
            for number in range(4)
        ]
    )
    raw = sums([result(str(number), way="raw", cause="no JSON") for number in range(4)])
    found = {
        task: {"helped": each.as_json(), "raw": raw.as_json()} for task in (*report.SIZES, "typed", "plan", "long")
    }
    return {
        **found,
        "model": "m.gguf",
        "server": "s",
        "calibration": {"calls": 9, "seconds": 3.0, "claimed_bytes": None},
    }


def test_summary_names_first_where_help_is_not_better():
    text = report.summary("m", measured_report(right=0))
    assert text.startswith("With m, Helmdeck is not better in 6 of 12 comparisons:")
    assert text.index("pick one of 50, right: 0 % with Helmdeck") < text.index("and better in these")


def test_page_gets_every_section_and_both_plots(tmp_path, monkeypatch):
    copy = tmp_path / "weak-models.md"
    copy.write_text(page.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(page, "RESULTS", tmp_path / "results")
    page.save("smollm2", measured_report(right=3))
    page.save("smollm2", {"pick_50": {"ranker": measured_report(right=1)["pick_50"]["helped"]}})
    page.save("smollm2", {"pick_50": {"raw": sums([]).as_json()}})
    page.save("other", {"model": "other", "server": "s"})
    page.write(copy)
    text = copy.read_text(encoding="utf-8")
    assert "| 1,000 | Helmdeck | 4 | 100 % | 75 % (30 to 95) |" in text
    assert "| 50 | Helmdeck | 4 | 100 % | 75 %" in text and "| 50 | Helmdeck's ranker alone | 4 | 100 % | 25 %" in text
    assert "| 50 | raw prompt | 4 |" in text, "a way without a result keeps its earlier one"
    assert "| smollm2 | other |" in text
    assert text.count("<!-- end of ") == 10 and "raw prompt" in (tmp_path / "weak-models-causes.svg").read_text()
    assert "wrong tool" in text and "<polyline" in (tmp_path / "weak-models-sizes.svg").read_text()


def test_every_way_has_a_title():
    ways = {*picking.WAYS, *typed.WAYS, *plans.WAYS, *long_output.WAYS}
    assert ways <= report.TITLES.keys() and tasks.WEIGHTS.keys() <= ways
