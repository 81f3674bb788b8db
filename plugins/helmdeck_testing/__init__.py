"""Tests of plugins and applications: scripted models, failing servers, contract suites, pytest fixtures.

- **In**: replies by cause, faults of a server, a plugin under test.
- **Out**: a deck for tests, loopback servers in five wire formats, suites that a plugin has to pass.
- **Hooks**: ``helmdeck_providers`` (``scripted``).
- **Begin** with ``deck_factory`` (``make_deck``), ``scripted``, ``fault_server`` and the modules ``*_contract``.

Enable the fixtures with ``pytest_plugins = ["helmdeck_testing"]`` or ``-p helmdeck_testing``; everything else works without
pytest.
"""

from pathlib import Path

from helmdeck_core.public_names import export_from_stub

# Without ``__dir__``: pytest gets every name that it lists of a plugin, which would import all modules for each session.
_get, _ = export_from_stub(__name__, __file__)

# pytest imports this module by name, so that importing helmdeck_testing does not import pytest.
pytest_plugins = ("helmdeck_testing.fixtures",)


def __getattr__(name: str) -> object:
    if name.endswith("Contract"):
        import pytest

        # Failed assertions of a contract suite then show the compared values.
        suites = (path.stem for path in Path(__file__).parent.glob("*contract*.py"))
        pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in suites))
    return _get(name)
