"""JARVIS: sessions, their phases, and the texts handed from phase to phase."""
