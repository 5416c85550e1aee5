"""Executor 2: every transition is a command of the server itself, ``EMQ.<VERB>``."""
