"""Real weak models: the whole chain, raw against helped; imports nothing, so that the peers' environments can import it."""
