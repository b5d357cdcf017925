"""Addresses and hosts: which are public, how a list names them, what a name covers."""
