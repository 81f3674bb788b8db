"""A gateway with keys over a store in memory, and the prices of its models."""

import asyncio
import contextlib
import threading

import attrs

from helmdeck_gateway.accounts.changes import create_key
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.records import KeyRecord, Limits
from tests.helmdeck_gateway.gateway_support import running_gateway, upstream

PRICED = {"input_cost_usd_per_mtok": 1.0, "output_cost_usd_per_mtok": 2.0, "output_tokens": 1_000}
USAGE = {"input_tokens": 1_000, "output_tokens": 500}
COST = 1_000 * 1e-6 + 500 * 2e-6


def config(server, **fields):
    return {
        "providers": {"up": upstream(server)},
        "budgets": {"up/": PRICED},
        "gateway": {"models": {"fast": "up/m", "slow": "up/n"}},
        "recovery": {"backoff_s": 0, "max_wait_s": 0},
        **fields,
    }


def record(name="ann", **fields):
    limits = Limits(
        **{each: fields.pop(each) for each in tuple(fields) if each in {a.name for a in attrs.fields(Limits)}}
    )
    return KeyRecord(name=name, id="", digest="", caller=fields.pop("caller", name), limits=limits, **fields)


class Keyed:
    """A running gateway with a key."""

    def __init__(self, running, store, made):
        self.running, self.store, self.key, self.id = running, store, made.secret, made.record.id

    def send(self, path="/v1/chat/completions", body=None, *, key=None, **options):
        headers = {"authorization": f"Bearer {key or self.key}", **options.pop("headers", {})}
        return self.running.send(path, body, headers=headers, **options)

    def chat(self, model="up/m", **fields):
        return self.send(body={"model": model, "messages": [{"role": "user", "content": "hi"}], **fields})

    @property
    def usage(self):
        return asyncio.run(self.store.usage(self.id))

    def add(self, **fields):
        return asyncio.run(create_key(self.store, record(**fields))).secret


@contextlib.contextmanager
def keyed(configured, *plugins, **fields):
    """Run a gateway over a store in memory with one key."""
    store = MemoryStore()
    made = asyncio.run(create_key(store, record(**fields)))
    with running_gateway(*plugins, config=configured, store=store) as running:
        yield Keyed(running, store, made)


def wait_until(condition):
    for _ in range(2_000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("the condition did not come true")
