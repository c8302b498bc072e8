"""Words for safe and unsafe that a judge is asked for, by language."""

from typing import NamedTuple

from casewise.protocols.types import Verdict


class Word(NamedTuple):
    """A word of a verdict."""

    text: str
    shortest: str
    """Its shortest beginning that a tokenizer may open it with, and that tells it from others.

    "sa" is too short: "say", "same" and "sadly" begin with it, and no verdict is better than
    theirs. "un" also begins "under" and "unclear"; it is taken only where the whole word is no
    token, and the mass shows what it drew in.
    """

    @property
    def pieces(self) -> tuple[str, ...]:
        """Its beginnings, longest first."""
        sizes = range(len(self.text) - 1, len(self.shortest) - 1, -1)
        return tuple(self.text[:size] for size in sizes)


ENGLISH = "en"

WORDS = {
    language: {Verdict.SAFE: Word(*safe), Verdict.UNSAFE: Word(*unsafe)}
    for language, safe, unsafe in (
        (ENGLISH, ("safe", "saf"), ("unsafe", "un")),
        ("de", ("akzeptabel", "ak"), ("inakzeptabel", "in")),
        ("es", ("seguro", "seg"), ("inseguro", "in")),
        ("fr", ("acceptable", "acc"), ("inacceptable", "in")),
        ("zh", ("安全", "安"), ("不安全", "不")),
    )
}
"""Two words of each language that our templates are written in.

The first token must tell them apart, so the openings of candidates were looked up in four public
vocabularies (cl100k, Qwen, DeepSeek-V3, Mistral's Tekken). The nearest words to "safe" in French
and German (sûr, sicher) and the usual ones for "dangerous" open with a single letter there, which
says nothing. So French and German judges are asked for acceptable or unacceptable, by which the
English prompt explains its words, too.
"""

TRANSLATED = tuple(WORDS)[1:]
"""The languages, beside English, in which our templates are written."""


def base_language(tag: str | None) -> str:
    """The language of a BCP 47 tag, without region or script; ``en`` where there is no tag.

    >>> base_language("es-MX"), base_language("zh_Hant"), base_language(None)
    ('es', 'zh', 'en')
    """
    return (tag or "en").replace("_", "-").partition("-")[0].strip().lower() or "en"


def other_words(language: str | None) -> dict[Verdict, Word]:
    """The two words of another language than English; empty where our templates have none."""
    base = base_language(language)
    return WORDS[base] if base in TRANSLATED else {}
