"""One request of a client as one call of the deck (``service``): its model (``targets``), its tools, its stream, its ids."""
