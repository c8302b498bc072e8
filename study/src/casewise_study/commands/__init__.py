"""People's votes: plan a study, run it, screen it, and export a new file of cases with votes."""
