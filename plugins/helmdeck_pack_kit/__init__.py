"""What packs are written with; importing it imports neither Pydantic nor an HTTP library.

- **Functions**: ``pack`` makes a pack of a typed function; schemas, types and description come from its signature.
- **Programs**: ``program_pack`` runs a command line program that reads JSON and writes JSON.
- **Effects**: ``effect_hints``, ``annotations_of`` and ``is_read_only`` write and read the annotations of packs.
- **Artifacts**: ``safe_name`` makes a file name of a text.
- **Names**: ``NameResolver`` finds the known name that a model means.

Names may be added here between minor versions.
"""

from helmdeck_guards.artifacts import safe_name as safe_name
from helmdeck_pack_kit.effects import annotations_of as annotations_of
from helmdeck_pack_kit.effects import effect_hints as effect_hints
from helmdeck_pack_kit.effects import is_read_only as is_read_only
from helmdeck_pack_kit.functions import pack as pack
from helmdeck_pack_kit.name_resolver import NameResolver as NameResolver
from helmdeck_pack_kit.programs import ProgramLimits as ProgramLimits
from helmdeck_pack_kit.programs import program_pack as program_pack
