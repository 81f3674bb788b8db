"""The parts of a request, one per requested action.

``parts`` splits a request. Before that, ``repeats``, ``restated`` and ``corrections`` complete short forms; ``segments`` finds where
parts end, and ``lead_ins`` removes polite words. What is not requested is found by ``negation``, ``withdrawals``, ``conditional``,
``inquiries`` and ``acts_done``. A ``part`` has a verb by ``clauses``, ``states`` or ``acts``. ``wording`` gives the words of a request their
English meaning; ``word_lists`` are the words of the rules.
"""
