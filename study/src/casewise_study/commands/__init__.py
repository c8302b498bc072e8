"""People's votes: plan a study, run it, screen it, and give the votes to the cases."""
