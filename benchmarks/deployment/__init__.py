"""The files of deploy/, started as plain processes."""
