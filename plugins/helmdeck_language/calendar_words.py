"""Names of months and days."""

from __future__ import annotations

from typing import Final

MONTHS: Final = tuple(
    """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    januar februar märz mai juni juli oktober dezember
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    """.split()
)
"""Names of months, lower case."""

WEEKDAYS: Final = tuple(
    """
    monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miércoles jueves viernes sábado domingo
    """.split()
)
"""Names of days, lower case."""

RELATIVE_DAYS: Final = tuple(
    "today tomorrow yesterday tonight heute morgen gestern aujourd'hui demain hier hoy mañana ayer".split()
)
"""Days relative to the current one, lower case. "Morgen" is a noun too, but a date is what requests mean."""
