"""The words of a text: their stems, typing mistakes, English stop words, and the files with word lists."""
