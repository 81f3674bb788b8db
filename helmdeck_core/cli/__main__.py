"""``python -m helmdeck_core.cli``: the command line without its installed script."""

from __future__ import annotations

import sys

from helmdeck_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
