"""The entry for each part of a request.

``choose`` scores the likely entries by rules: ``weighing`` says what a part is about, ``coverage`` and ``effects`` whether an entry may
serve it, ``fit``, ``input_fit`` and ``shapes`` how well. For English parts, ``evidence`` gives each candidate a probability from its
``features`` and the ``meanings`` of the wording. ``confidence`` says from which probability a candidate is a step. ``ranked`` replaces
both where no entry has a schema, and ``pipelines`` finds one for all parts.
"""
