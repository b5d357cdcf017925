"""Logins at servers over HTTP, and messages between a login, its browser and the authorization server."""
