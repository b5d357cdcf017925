"""Judging system calls that wait: files, names, metadata, processes and shared objects."""
