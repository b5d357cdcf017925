"""Seed 003's tools and resources over the workflows of a data folder."""
