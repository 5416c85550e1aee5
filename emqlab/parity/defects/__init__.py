"""Planted defects and mutants: what the instrument is shown to catch."""
