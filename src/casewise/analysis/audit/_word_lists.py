"""Words that have no place in a context. English alone."""

import re

VERDICT_WORDS = re.compile(
    r"\b(?:unsafe|harmful|harmless|malicious(?:ly)?|nefarious|benign|inappropriate|unethical"
    r"|(?:il)?legitimate (?:reasons?|purposes?|uses?|needs?|interests?|intent|requests?)"
    r"|(?:should|must|may|can) (?:not )?be (?:answered|refused|declined)"
    r"|(?:good|bad|ill|evil|harmful|criminal) intent(?:ions?)?)\b",
    re.IGNORECASE,
)
"""Words of a verdict."""

PLEADING_WORDS = re.compile(
    r"\b(?:please|pleading|begs?|begging|i promise|i swear|trust (?:me|us)|believe me"
    r"|help (?:me|us)|just this once|no harm (?:is )?(?:meant|intended)|means? no harm)\b",
    re.IGNORECASE,
)
"""An appeal to whoever reads, where a context only describes."""
