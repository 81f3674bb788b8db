"""Builds and checks what a release publishes: ``python -m release --help``. docs/release.md describes the process.

``distributions`` finds and builds, ``checks`` looks into the files, ``environments`` installs them into clean environments, where
``smoke`` uses them, ``public_api`` compares the public names with those of the last release, ``workflows`` checks the GitHub workflows,
and ``dry_run`` does everything twice. Begin with ``__main__``.
"""
