"""Files that ship with casewise-study: texts, translations, the data card, service files."""
