"""One request of a client as one call of the deck: models, tools, streams."""
