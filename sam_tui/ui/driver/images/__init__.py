"""Images on the terminal around, where it takes them."""
