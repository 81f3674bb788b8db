"""An example day for the console, without a model or a network."""
