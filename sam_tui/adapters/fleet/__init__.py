"""Work on several processes and machines; docs/design/fleet.md says how."""
