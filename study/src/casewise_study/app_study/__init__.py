"""The pages on which people judge cases for a study."""
