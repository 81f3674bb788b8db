"""What the entries of a catalog do, and what kind of value each input takes."""
