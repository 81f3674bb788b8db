"""The history of plans: what was planned before sharpens the next selection. And calibration of budgets.

- **In**: records of plans with names, hashes and listed values; never the text of a request.
- **Out**: the prior of a request, learned defaults, groups of plans, facts; a budget row measured for a model.
- **Hooks**: ``helmdeck_histories``, ``helmdeck_history_stores``, ``helmdeck_packs`` (memory), ``helmdeck_commands``.
- **Begin** with ``service`` (records and learns), ``store_types`` (what a store does), ``stores`` (SQLite, PostgreSQL,
  Redis), ``learnable`` (which values are recorded) and ``calibration`` (``helmdeck calibrate``).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
