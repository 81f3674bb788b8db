"""Finds parts of secrets in large texts."""

SEPARATORS = bytes(number for number in range(128) if not chr(number).isalnum())


def plain(text):
    """The ASCII letters and digits alone, in lower case."""
    return text.encode("ascii", "ignore").translate(None, SEPARATORS).decode().lower()


def windows(text):
    """Every 12 letters and digits in a row, in lower case."""
    letters = plain(text)
    return {letters[start : start + 12] for start in range(len(letters) - 11)}


def signatures(parts):
    """A few short strings, one of which is in every part: a text without them contains no part."""
    found = []
    for part in sorted(parts):
        if not any(each in part for each in found):
            middle = len(part) // 2
            found.append(part[middle - 3 : middle + 3])
    return found
