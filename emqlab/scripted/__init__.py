"""Executor 1: every transition is one Lua script."""
