"""Failing upstreams behind the gateway: every fault, client API and fallback combined."""
