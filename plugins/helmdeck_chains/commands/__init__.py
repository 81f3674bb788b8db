"""The commands of the group ``chain``."""
