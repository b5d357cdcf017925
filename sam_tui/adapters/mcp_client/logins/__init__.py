"""Logins at servers over HTTP, and what goes between a login, its browser and the authorization server."""
