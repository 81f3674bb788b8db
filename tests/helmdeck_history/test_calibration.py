"""Calibration: the search, the trials, the log, and a whole run against a simulated model."""

from __future__ import annotations

import asyncio
import datetime
import json
import random
import stat
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import Entry, EntryKind, QuotaExhausted, RateLimited
from helmdeck_core.cli import ExitCode
from helmdeck_history.calibration import report
from helmdeck_history.calibration.log import CalibrationLog, Header, LogMismatch, ProbeLine, TrialLine
from helmdeck_history.calibration.search import SIZES, CalibrationSearch, SequentialTest, wilson_bound
from helmdeck_history.calibration.session import Calibration, Limits
from helmdeck_history.calibration.trials import TrialMaker
from helmdeck_testing import OPENAI_CHAT, FailingServer, StubProvider
from tests.case_support import each_case
from tests.cli_support import Cli, leave_the_machine

HEADER = Header(1, "vllm/m", "content", 5)


def search_with(rates, seed):
    rng, search = random.Random(seed), CalibrationSearch()
    while (size := search.size) is not None:
        search.record(None if rng.random() < rates[SIZES.index(size)] else "wrong_tool")
    return search


@each_case("limit", [-1, 0, 5, len(SIZES) - 1])
def test_a_model_that_never_errs_below_its_limit_is_given_that_limit(limit):
    search = search_with([1.0 if place <= limit else 0.0 for place in range(len(SIZES))], seed=1)
    assert search.claimed == (SIZES[limit] if limit >= 0 else None)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=len(SIZES), max_size=len(SIZES)), st.integers(0, 10**6))
def test_every_search_ends_with_a_claim_that_its_trials_support(rates, seed):
    search = search_with(rates, seed)
    assert sum(each.trials for each in search.counts()) <= 4 * 60 + 60 * len(SIZES)
    if search.claimed is not None:
        (claimed,) = [each for each in search.counts() if each.size == search.claimed]
        assert claimed.successes >= 15 and claimed.bound > 0.6


@settings(max_examples=30)
@given(st.lists(st.booleans(), max_size=80))
def test_a_search_depends_on_its_outcomes_alone(outcomes):
    one, two = CalibrationSearch(), CalibrationSearch()
    for success in outcomes:
        if not one.is_done:
            one.record(None if success else "empty")
    for success in outcomes:
        if not two.is_done:
            two.record(None if success else "empty")
    assert (one.size, one.claimed, one.counts()) == (two.size, two.claimed, two.counts())


def test_fifteen_successes_accept_and_two_early_failures_reject():
    test = SequentialTest()
    for _ in range(15):
        assert test.verdict is None
        test.record(True)
    assert test.verdict is True
    test = SequentialTest()
    test.record(False)
    assert test.verdict is None
    test.record(False)
    assert test.verdict is False


def test_the_bound_is_that_of_wilson():
    assert wilson_bound(0, 0) == 0.0
    assert wilson_bound(15, 15) == pytest.approx(0.847, abs=0.001)
    assert wilson_bound(50, 100) == pytest.approx(0.419, abs=0.001)


@pytest.mark.parametrize("size", [SIZES[0], SIZES[4], SIZES[-1]])
def test_a_catalog_fills_its_size_and_holds_the_wanted_tool_once(size):
    trial = TrialMaker(seed=3).trial(size)
    names = [tool["name"] for tool in json.loads(trial.catalog)]
    assert size * 0.75 < len(trial.catalog.encode()) <= size
    assert names.count(trial.tool) == 1 and len(set(names)) == len(names)
    noun, _, verb = trial.tool.partition(".")
    assert any(name != trial.tool and (name.startswith(noun) or name.endswith(verb)) for name in names)


def test_no_prompt_occurs_twice_and_depths_vary():
    maker = TrialMaker(seed=4)
    trials = [maker.trial(8_192) for _ in range(60)]
    assert len({trial.request for trial in trials}) == len({trial.catalog for trial in trials}) == 60
    assert min(trial.depth for trial in trials) < 0.2 and max(trial.depth for trial in trials) > 0.8


def test_the_entries_of_a_user_fill_the_prompt():
    entries = [
        Entry(EntryKind.PACK, f"acme.tool{n}", {"name": f"acme.tool{n}", "description": "x" * 200}) for n in range(40)
    ]
    trial = TrialMaker(entries, seed=1).trial(16_384)
    assert sum(tool["name"].startswith("acme.") for tool in json.loads(trial.catalog)) > 20


def test_an_answer_passes_with_the_tool_and_the_number_only():
    trial = TrialMaker(seed=2).trial(4_096)
    assert trial.problem([(trial.tool, {"number": trial.number})]) is None
    assert trial.problem([]) == "no_step"
    assert trial.problem([("other.tool", {"number": trial.number})]) == "wrong_tool"
    assert trial.problem([(trial.tool, {"number": "A-1"})]) == "wrong_arguments"


def test_a_log_continues_after_a_cut_line_and_belongs_to_its_owner(tmp_path):
    path = tmp_path / "logs" / "m.jsonl"
    with CalibrationLog.open(path, HEADER) as log:
        log.append(TrialLine(4096, None))
        log.append(ProbeLine("tools", 3, {"passed": 2, "trials": 3}))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with path.open("ab") as file:
        file.write(b'{"type":"trial","si')
    with CalibrationLog.open(path, Header(1, "vllm/m", "content", 99)) as log:
        assert log.header.seed == 5 and len(log.lines) == 2
        log.append(TrialLine(4096, "empty"))
    with CalibrationLog.open(path, HEADER) as log:
        assert [type(line).__name__ for line in log.lines] == ["TrialLine", "ProbeLine", "TrialLine"]


@pytest.mark.parametrize("content", [b"not a log\n", b'{"version":1,"model":"x/y","content":"content","seed":1}\n'])
def test_a_log_of_something_else_is_refused_and_replaced_on_request(tmp_path, content):
    path = tmp_path / "m.jsonl"
    path.write_bytes(content)
    with pytest.raises(LogMismatch, match="--fresh"):
        CalibrationLog.open(path, HEADER)
    assert path.read_bytes() == content
    CalibrationLog.open(path, HEADER, fresh=True).close()
    assert b"vllm/m" in path.read_bytes()


@each_case("line", [{"latency_s": -1.0}, {"cost_usd": -0.5}, {"cause": ""}])
def test_log_with_an_impossible_figure_is_refused(tmp_path, line):
    path = tmp_path / "m.jsonl"
    CalibrationLog.open(path, HEADER, fresh=True).close()
    trial = {"type": "trial", "size": SIZES[6], "cause": None, **line}
    path.write_bytes(path.read_bytes() + json.dumps(trial).encode() + b"\n")
    with pytest.raises(LogMismatch, match="not a calibration log"):
        CalibrationLog.open(path, HEADER)


@each_case(
    ("header", "message"),
    [
        (Header(1, "vllm/n", "content", 5), "of the model vllm/m.; --log chooses another file"),
        (Header(1, "vllm/m", "other", 5), "of other catalog entries.; --fresh replaces it"),
        (Header(2, "vllm/m", "content", 5), "of version 1 of the log"),
    ],
)
def test_log_of_another_calibration_is_refused_with_the_difference(tmp_path, header, message):
    CalibrationLog.open(tmp_path / "m.jsonl", HEADER, fresh=True).close()
    with pytest.raises(LogMismatch, match=message):
        CalibrationLog.open(tmp_path / "m.jsonl", header)


class Model(StubProvider):
    """Knows the answers of a maker, up to a limit."""

    def __init__(self, maker, limit):
        super().__init__("")
        self.maker, self.limit, self.failures = maker, limit, []

    async def complete(self, request):
        if self.failures:
            raise self.failures.pop(0)
        trial, size = self.maker.last
        self.replies = [
            {"steps": [{"tool": trial.tool if size <= self.limit else "x.y", "args": {"number": trial.number}}]}
        ]
        return await super().complete(request)


class Maker(TrialMaker):
    def trial(self, size):
        self.last = (super().trial(size), size)
        return self.last[0]


def run_calibration(deck_with, log, limit=SIZES[6], failures=(), waits=None, **options):
    maker = Maker(seed=9)
    model = Model(maker, limit)
    model.failures = list(failures)

    waits = [] if waits is None else waits

    async def wait(seconds):
        waits.append(seconds)

    async def run():
        async with deck_with(model) as deck:
            services = deck._engine.dispatcher.services
            clock = services.clock
            services.clock = lambda: clock() + sum(waits)  # the deck keeps the wait as well
            return await Calibration(deck, "acme/m", log, maker=maker, wait=wait, **({"probes": ()} | options)).run()

    return asyncio.run(run())


@pytest.fixture
def deck_with():
    from helmdeck_core import ProviderSpec
    from helmdeck_testing import make_deck, plugin_with

    def make(model):
        plugin = plugin_with(helmdeck_providers=[ProviderSpec(name="acme", open=lambda settings, context: model)])
        budgets = {"acme/m": {"input_tokens": 10_000_000, "max_catalog_bytes": 0}}
        return make_deck(plugin, config={"budgets": budgets})

    return make


def memory_log():
    return CalibrationLog.open(None, HEADER)


def test_a_run_finds_the_limit_and_counts_causes(deck_with):
    outcome = run_calibration(deck_with, memory_log())
    assert outcome.claimed == SIZES[6] and not outcome.stopped
    above = [each for each in outcome.counts if each.size > SIZES[6]]
    assert above and all(each.successes == 0 and set(each.causes) == {"wrong_tool"} for each in above)
    row = report.budget_row(outcome, "acme/m", datetime.date(2026, 11, 22))
    (table,) = tomllib.loads(report.as_toml("acme/m", row))["budgets"].values()
    assert table["max_catalog_bytes"] == SIZES[6] and table["tier"] == "B"
    assert "18 of 18" in table["evidence"] and "2026-11-22" in table["evidence"]
    assert report.curve([outcome]).count("<circle") == len(outcome.counts)


def test_a_rate_limit_is_no_evidence_and_waited_for(deck_with):
    waits = []
    outcome = run_calibration(
        deck_with, memory_log(), failures=[RateLimited("slow down", retry_after_s=7.0)], waits=waits
    )
    assert outcome.claimed == SIZES[6] and waits == [7.0]
    assert not any("rate_limited" in each.causes for each in outcome.counts)


def test_an_interrupted_run_is_resumed_from_its_log(deck_with, tmp_path):
    path = tmp_path / "m.jsonl"
    with CalibrationLog.open(path, HEADER) as log:
        first = run_calibration(deck_with, log, limits=Limits(max_calls=7))
    assert first.stopped == "the limit of 7 calls (--max-calls)" and first.calls == 7
    with CalibrationLog.open(path, HEADER) as log, pytest.raises(QuotaExhausted):
        run_calibration(deck_with, log, failures=[QuotaExhausted("no credit")])
    with CalibrationLog.open(path, HEADER) as log:
        whole = run_calibration(deck_with, log)
        assert len(log.lines) == whole.calls
    assert whole.claimed == SIZES[6]


@each_case("sizes", [[SIZES[0]], [SIZES[6]] * 500])
def test_log_of_trials_that_were_not_due_is_refused(deck_with, sizes):
    log = CalibrationLog(HEADER, [TrialLine(size, None) for size in sizes], None)
    with pytest.raises(LogMismatch, match=r"where (no|a) trial .*was due.*--fresh"):
        run_calibration(deck_with, log)


def test_interrupted_log_is_no_evidence_about_what_the_model_can_do(deck_with):
    async def outcome():
        async with deck_with(StubProvider("")) as deck:
            return Calibration(deck, "acme/m", CalibrationLog(HEADER, [TrialLine(SIZES[6], "empty")], None)).outcome()

    found = asyncio.run(outcome())
    row = report.budget_row(found, "acme/m", datetime.date(2026, 11, 22))
    assert found.stopped == "an interruption"
    assert "no size has passed so far, 0 of 1 plans right" in row["evidence"]
    assert "not finished" in report.conclusion(found)
    assert "max_catalog_bytes" not in row


def test_no_trial_begins_that_would_exceed_the_time_limit(deck_with):
    times = iter(range(0, 10_000, 10))
    limits = Limits(max_seconds=200.0)
    outcome = run_calibration(deck_with, memory_log(), limits=limits, clock=lambda: float(next(times)))
    # The clock is read three times for a trial: for the limit, at its start and at its end. At 190 seconds, one of 10 still fits.
    assert outcome.stopped == "the time limit of 200 seconds (--seconds)" and outcome.median_latency_s == 10.0
    assert outcome.calls == 7


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    return Cli(capsys)


def test_the_command_refuses_an_invalid_model_id_before_it_shows_a_cost(cli):
    done = cli("calibrate", "nope", "--yes")
    assert done == (2, "", "helmdeck: model id 'nope' is not of the form provider/model\n")


def test_the_command_requires_a_confirmation(cli, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    done = cli("calibrate", "local/lexical")
    assert done.code == ExitCode.USAGE and "--yes" in done.err


def test_plot_in_a_missing_folder_is_an_error_before_anything_is_sent(cli, tmp_path):
    done = cli("calibrate", "local/lexical", "--yes", "--plot", str(tmp_path / "missing" / "curve.svg"))
    assert done.code == ExitCode.USAGE and "the plot cannot be written" in done.err and "calls" not in done.err


def test_the_command_writes_row_log_and_curve(cli, monkeypatch, tmp_path):
    server = FailingServer(OPENAI_CHAT, text="nothing useful")
    monkeypatch.setenv("HELMDECK_PROVIDERS__VLLM__BASE_URL", server.base_url)
    try:
        target, plot = tmp_path / "new.toml", tmp_path / "curve.svg"
        words = ("calibrate", "vllm/m", "--yes", "--json", "--write", str(target), "--plot", str(plot))
        done = cli(*words)
        data = json.loads(done.out)
        assert done.code == ExitCode.OK, done.err
        assert data["claimed_bytes"] is None and data["is_complete"] and data["budget"]["tier"] == "C"
        assert tomllib.loads(target.read_text())["budgets"]["vllm/m"]["tier"] == "C"
        assert plot.read_text().startswith("<svg")
        sent = len(server.requests)
        again = cli("calibrate", "vllm/m", "--yes")
        assert again.code == ExitCode.OK and len(server.requests) == sent
        assert "unusable for structured work" in again.out and "max_catalog_bytes" not in again.out
        taken = cli(*words)
        assert taken.code == ExitCode.USAGE and "has a row" in taken.err
    finally:
        server.close()


def test_command_refuses_a_log_that_two_runs_wrote(cli, monkeypatch, tmp_path):
    server = FailingServer(OPENAI_CHAT, text="nothing useful")
    monkeypatch.setenv("HELMDECK_PROVIDERS__VLLM__BASE_URL", server.base_url)
    path = tmp_path / "m.jsonl"
    try:
        assert cli("calibrate", "vllm/m", "--yes", "--log", str(path), "--max-calls", "3").code == ExitCode.CHECK_FAILED
        header, *lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(header + lines[0] * 2 + b"".join(lines[1:]))
        sent = len(server.requests)
        done = cli("calibrate", "vllm/m", "--yes", "--log", str(path))
        assert done.code == ExitCode.USAGE and len(server.requests) == sent
        assert "as if two runs had written it; --fresh replaces it" in done.err and str(path) in done.err
    finally:
        server.close()


def test_a_stopped_run_says_how_to_resume(cli, monkeypatch):
    server = FailingServer(OPENAI_CHAT, text="nothing useful")
    monkeypatch.setenv("HELMDECK_PROVIDERS__VLLM__BASE_URL", server.base_url)
    try:
        done = cli("calibrate", "vllm/m", "--yes", "--max-calls", "2")
        assert done.code == ExitCode.CHECK_FAILED and "the same command resumes it" in done.err
        assert "not finished" in done.out and "[budgets" not in done.out
    finally:
        server.close()
