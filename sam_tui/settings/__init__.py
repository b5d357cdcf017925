"""Settings: one table, and their values from files and environment in layers."""
