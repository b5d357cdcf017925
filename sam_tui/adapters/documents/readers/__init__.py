"""Documents of each format read as Markdown or plain text, bounded and without what hides."""
