"""Revising cases: journal, rules, desk and page. The page's application alone knows the web."""
