"""The markers of specifications and implementations."""

import pluggy

hookspec: pluggy.HookspecMarker = pluggy.HookspecMarker("helmdeck")
hookimpl: pluggy.HookimplMarker = pluggy.HookimplMarker("helmdeck")
