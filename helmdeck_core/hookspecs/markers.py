"""The markers of specifications and implementations."""

import pluggy

hookspec = pluggy.HookspecMarker("helmdeck")
hookimpl = pluggy.HookimplMarker("helmdeck")
