"""The screens of the console."""
