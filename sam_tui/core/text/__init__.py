"""Untrusted text: hidden characters, width, nesting, and words of agreement."""
