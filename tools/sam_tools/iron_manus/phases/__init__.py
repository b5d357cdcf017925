"""JARVIS: sessions, their phases, and what is handed from phase to phase."""
