"""What a person sets: one table of settings, and their values from files and environment in layers."""
