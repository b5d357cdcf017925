"""Definitions of workflows: model, files, and validation."""
