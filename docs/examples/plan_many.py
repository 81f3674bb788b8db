"""Plan several requests concurrently."""

import asyncio

from helmdeck_core import CallFailed, Helmdeck

REQUESTS = ("take a screenshot of https://example.org", "plan a slide deck about this talk", "brew a pot of tea")


async def main():
    """One deck serves any number of concurrent requests."""
    async with Helmdeck(model="local/lexical") as deck:
        plans = await asyncio.gather(*(deck.aplan(request) for request in REQUESTS), return_exceptions=True)
    for request, plan in zip(REQUESTS, plans, strict=True):
        if isinstance(plan, CallFailed):
            print(request, "->", plan.failure_class, "next:", plan.next_action)
        elif isinstance(plan, BaseException):
            raise plan
        else:
            print(request, "->", [step.tool for step in plan.steps], plan.outcome)


asyncio.run(main())
