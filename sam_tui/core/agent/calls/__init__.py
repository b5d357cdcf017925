"""Recorded model calls and their inspection: prefix, cost, and the request itself."""
