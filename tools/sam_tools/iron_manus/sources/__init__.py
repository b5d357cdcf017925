"""Research by public APIs: the list, the requests, and the comparison of several answers."""
