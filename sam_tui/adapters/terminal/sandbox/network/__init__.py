"""Judging connections: hosts, names, sockets and datagrams."""
