"""What commands do: a text is read, wrappers are taken off, each program is judged."""
