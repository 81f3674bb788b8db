"""Hit rate and false-hit rate of the semantic cache on paraphrases and near misses."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "contrib_caches" / "semantic" / "src"))
