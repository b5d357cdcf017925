"""The terminal front end: a Textual app that draws events and asks inquiries. Imports nothing."""
