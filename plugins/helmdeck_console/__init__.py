"""The console: web pages that show what a fleet of models does, why a response came out as it did, and what it cost.

- **In**: the request log of ``helmdeck_telemetry``, a deck, the keys and limits of the gateway.
- **Out**: HTML pages under ``/console``, their data as CSV and JSON, an audit log of changes.
- **Hooks**: ``helmdeck_gateway_apps`` (the gateway serves the console), ``helmdeck_commands`` (``helmdeck console``,
  ``helmdeck usage export``).
- **Begin** with ``application`` (routes and headers), ``sources`` (what a console shows), ``web.access`` (sign-in, roles,
  tokens), ``screens`` (one module each), ``web.charts`` (pictures) and ``demo`` (the example day).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
