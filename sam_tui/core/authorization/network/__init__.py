"""Addresses and hosts: public ones, their names in lists, and what a name covers."""
