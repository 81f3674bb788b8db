"""JSON Schema: validation, and adaptation to what a provider accepts."""
