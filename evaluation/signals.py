"""Told to whoever listens; keeps imports one-way."""

from django.dispatch import Signal

# Sent inside the loading transaction, with `run`, once a run is live and evaluated (or has no evaluator).
run_loaded = Signal()
