"""Rehearsals: a command runs on a branch of the workspace, and its changes are committed or dropped."""
