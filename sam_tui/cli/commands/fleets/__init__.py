"""Fleets and the workers that take their tasks."""
