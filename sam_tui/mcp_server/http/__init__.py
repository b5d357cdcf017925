"""The HTTP transport: who may come in, and sessions whose streams can be resumed."""
