"""Runs: packs, pipelines of packs, the agent loop, and the engines that execute and record them.

- **In**: a pack or pipeline with its inputs, or a request for the agent; confirmations.
- **Out**: outputs of steps, recorded runs that can be resumed, artifacts, failures by cause.
- **Hooks**: ``helmdeck_packs``, ``helmdeck_run_engines``, ``helmdeck_run_programs``, ``helmdeck_prompt_variants``,
  ``helmdeck_commands``.
- **Begin** with ``pack_builder`` (write a pack), ``packs`` (the built-in ones), ``pipelines.program`` (execute steps),
  ``agent.loop`` (the agent without I/O), ``runs`` (the types) and ``engines`` (local, DBOS).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
