"""What packs are written with: packs of typed functions and of programs."""
