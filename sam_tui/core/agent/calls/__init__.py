"""Model calls as they are recorded and looked at: prefix, cost, and the request itself."""
