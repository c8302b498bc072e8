"""Plan of a run: every model under every condition, checked before anything is sent."""
