"""The built-in commands of the command line, one plugin for each first word."""
