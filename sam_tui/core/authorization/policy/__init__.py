"""The judgement of an access, stage by stage."""
