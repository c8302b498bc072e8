"""Exchange with platforms: write a study's tasks as their files, read their results."""
