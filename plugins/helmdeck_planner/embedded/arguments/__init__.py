"""The values for the inputs of an entry."""
