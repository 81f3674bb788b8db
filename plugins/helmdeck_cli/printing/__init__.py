"""How results of commands are printed."""
