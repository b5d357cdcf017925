"""Ports to processes: commands, terminals, their screens and recordings, and their confinement."""
