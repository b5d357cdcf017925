"""The HTTP transport: access, and sessions whose streams can be resumed."""
