"""Whole screens and the dialogs over them: composition only."""
