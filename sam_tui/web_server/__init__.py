"""The workbench in a browser: a page with a terminal, and behind each page a workbench of its own."""
