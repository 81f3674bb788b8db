"""The APIs of clients: how requests are read and responses are written."""
