"""Research by public APIs: the list, the fetches, and what several sources say together."""
