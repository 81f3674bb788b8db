"""Guards: checks of requests and answers that block, redact with restoration, or report.

- **In**: requests and answers, whole or as a stream; ``[guards.NAME]`` in the configuration.
- **Out**: the same without what the guards redacted; ``GuardBlocked`` for what they block; an event for each report.
- **Hooks**: ``helmdeck_guards``.
- **Begin** with ``session`` (one request and its answer), ``channel`` (the window of a stream) and ``kinds`` (what is detected).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
