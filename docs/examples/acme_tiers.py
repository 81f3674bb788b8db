"""Defaults of a tier, and a weight of the selection."""

from helmdeck_core import Tier, TierDefaults, Weight, hookimpl


@hookimpl
def helmdeck_tier_defaults():
    """Send tier C models six entries of at most 6,000 bytes; replaces the built-in defaults of the tier."""
    return [
        TierDefaults(
            tier=Tier.C,
            max_catalog_bytes=6_000,
            max_entries=6,
            prompt_variant="single_pick",
            has_prefix_index=False,
            allows_json_mode=False,
        )
    ]


@hookimpl
def helmdeck_weights():
    """Ignore the plan history in rankings."""
    return [Weight(name="history.gain", value=0)]
