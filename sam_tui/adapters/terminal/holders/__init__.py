"""Small processes that keep agent sessions when the program crashes or is started again."""
