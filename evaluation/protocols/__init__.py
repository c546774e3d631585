"""Scoring rules as pure functions: no Django, no files. One module a published protocol."""
