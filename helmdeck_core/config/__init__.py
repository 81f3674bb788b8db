"""The configuration: its types, how it is read, checked, and which value wins."""
