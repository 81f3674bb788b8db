"""A guard that asks a moderation service over HTTP."""

import attrs
import httpx2

from helmdeck_core import Guard, GuardFinding, GuardSpec, SecretRef, hookimpl


@attrs.frozen(kw_only=True)
class ModerationOptions:
    """The keys of ``[guards.NAME.options]``."""

    url: str
    api_key: SecretRef | None = None
    window_chars: int = 400


def open_moderation(options, _services):
    """Open the guard of one table."""
    key = options.api_key.read() if options.api_key else None
    client = httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"} if key else {})

    async def check(subject):
        reply = await client.post(options.url, json={"stage": subject.stage, "texts": list(subject.texts)})
        reply.raise_for_status()
        return [
            GuardFinding(each["kind"], each.get("start", 0), each.get("stop", 0), each.get("text", 0))
            for each in reply.json()["findings"]
        ]

    return Guard(check=check, window_chars=options.window_chars, close=client.aclose)


@hookimpl
def helmdeck_guards():
    """Contribute the kind ``moderation``; it runs after the built-in guards, so it sees what they redacted."""
    return [GuardSpec(name="moderation", options=ModerationOptions, open=open_moderation, order=100)]
