"""Chains that learn: the order of a fallback chain by expected cost per usable answer.

- **In**: the models of a chain, facts about a call (pack, answer type, sizes), and how its attempts ended; never a text.
- **Out**: an order of the models, once per call; evidence by model and kind of work, shared through the history store; advice.
- **Hooks**: ``helmdeck_chain_policies``, ``helmdeck_commands``.
- **Begin** with ``ordering`` (the formula), ``evidence`` (what is known, and how it fades) and ``adaptive`` (the policy). The core
  asks the policy in ``helmdeck_core.calls.chain_orders``.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
