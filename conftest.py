"""The same examples in every run, so that a failure is about the code; ``--hypothesis-profile=explore`` looks for new ones.

How long an example takes says something about the machine and is no reason to fail.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
