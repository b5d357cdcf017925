"""Ports to processes: commands, terminals, their screens and recordings, and what holds them."""
