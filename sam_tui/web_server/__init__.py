"""The workbench in a browser: each page has a terminal, and behind it a workbench of its own."""
