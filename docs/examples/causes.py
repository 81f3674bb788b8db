"""Handle failures by cause; the scripted provider fails on demand."""

from helmdeck_core import CallFailed, LengthTruncated, RateLimited
from helmdeck_testing import Fail, empty_length, empty_stop, make_deck, scripted_provider

script = scripted_provider([empty_length(), Fail("rate_limited", retry_after_s=2.0), empty_stop()])

# One attempt per call, so that every failure is raised.
with make_deck(script, model="scripted/weak", config={"recovery": {"max_attempts": 1}}) as deck:
    for _ in range(3):
        try:
            deck.plan("draft a blog post")
        except LengthTruncated as failure:
            print("ask for less:", failure.sub_cause)
        except RateLimited as failure:
            print("wait:", failure.retry_after_s)
        except CallFailed as failure:
            print("another model:", failure.failure_class, failure.sub_cause)
