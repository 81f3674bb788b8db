"""JSON Schemas in the dialects of servers: what each server supports, and how a schema is adapted."""
