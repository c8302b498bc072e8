"""Exchange with Prolific and other tools: blocks as CSV, Prolific's settings and exports."""
