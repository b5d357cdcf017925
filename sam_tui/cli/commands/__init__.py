"""The commands of ``sam-tui``, a module for each group of them."""
