"""Every fault of an upstream, over client APIs and fallbacks: complete or a typed error, in time, nothing twice.

Each fault is judged with every third of the ways; ``python -m benchmarks.gateway_faults`` judges the whole product.
"""

import asyncio

import pytest

from benchmarks.gateway_faults.cases import DEADLINE_S, all_cases, configuration, plans_of
from benchmarks.gateway_faults.judge import PATHS, Outcome, judge
from benchmarks.gateway_faults.upstream import ScriptedUpstream
from helmdeck_gateway import Gateway
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.test_faults import request

WAYS = [("chat", True, "none"), ("chat", False, "none"), ("messages", True, "none"), ("messages", False, "")]
WAYS += [("responses", True, "once"), ("responses", False, "status 503"), ("chat", True, "empty content")]
WAYS += [("messages", False, "empty content"), ("responses", True, "empty content")]


@pytest.mark.parametrize(("dialect", "streams", "second"), WAYS)
def test_every_fault_ends_completely_or_with_a_typed_error(virtual_time_with_sockets, dialect, streams, second):
    cases = list(all_cases([second], [(dialect, streams)]))[WAYS.index((dialect, streams, second)) % 3 :: 3]

    async def run(app, number, case):
        start_s = asyncio.get_running_loop().time()
        status, headers, raw = await request(app, PATHS[dialect], case.body(f"m{number}"))
        return Outcome(status, headers["content-type"], raw, asyncio.get_running_loop().time() - start_s)

    async def run_all():
        async with ScriptedUpstream(plans_of(cases)) as upstream:
            config = configuration(cases, upstream.base_url, "http://127.0.0.1:9/v1")
            async with make_deck(config={**config, "events": {"sinks": ["gateway"]}}) as deck:
                app = Gateway(deck).app
                return await asyncio.gather(*(run(app, number, case) for number, case in enumerate(cases)))

    problems = []
    for case, outcome in zip(cases, asyncio.run(run_all()), strict=True):
        _, problem = judge(case, outcome, DEADLINE_S + 0.5)
        problems += [(case, problem)] if problem else []
    assert problems == []
