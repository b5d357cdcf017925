"""The outside: models, files, search, processes and storage, one package each."""
