"""A model's tokenizer: conversations as tokens, and tokens as text."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from casewise.errors import ModelError
from casewise.protocols import TRANSLATED, find_lexicon, surface_forms

Turn = Mapping[str, str]
"""``role`` and ``content`` of a message."""

_SPACE = "\u2581"
"""How SentencePiece writes a space."""


class Tokens:
    """A tokenizer of transformers, for one thread at a time."""

    def __init__(self, tokenizer: Any) -> None:
        self.raw = tokenizer
        """The tokenizer itself, for the engine's thread alone."""
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}
        # A fast tokenizer can't be used by two threads at once.
        self._lock = threading.Lock()

    def prompt(self, turns: Sequence[Turn]) -> tuple[int, ...]:
        """A conversation as its model reads it, up to where the answer begins.

        By the tokenizer's own chat template, thinking switched off where it can be. A system
        message goes before the first of the user's, where the template takes none. Without a
        template, each message is ``role: text`` with an empty line after it, and ``assistant:``
        stands at the end.

        Raises:
            ModelError: The template takes no such conversation.
        """
        with self._lock:
            if not getattr(self._tokenizer, "chat_template", None):
                return self._encode(plain(turns), special=True)
            try:
                text = self._render(turns)
            except Exception as error:  # a template raises what its author wrote
                if turns[0]["role"] != "system":
                    raise ModelError(f"the chat template fails: {_first(error)}") from None
                text = self._without_system(turns)
            return self._encode(text, special=False)

    def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text, and whether it is the only one.

        A space that is a piece of its own is none: what follows it begins an answer, too.
        """
        pieces = self._pieces(text)
        return (self.text(pieces[0]) if pieces else ""), len(pieces) == 1

    def openings(self) -> tuple[int, ...]:
        """The first tokens of all spellings of a verdict, in the languages that ship."""
        lexicons = [find_lexicon(language) for language in (None, *TRANSLATED)]
        forms = dict.fromkeys(form for one in lexicons for form in surface_forms(one))
        return tuple(dict.fromkeys(one for form in forms for one in self._pieces(form)[:1]))

    def text(self, token: int) -> str:
        """One token as text, its leading space kept."""
        found = self._texts.get(token)
        if found is None:
            with self._lock:
                piece = self._tokenizer.convert_ids_to_tokens(token)
                if isinstance(piece, str) and _SPACE in piece:
                    found = piece.replace(_SPACE, " ")
                else:
                    found = str(self._tokenizer.decode([token]))
            self._texts[token] = found
        return found

    def answer(self, tokens: Iterable[int]) -> str:
        """An answer as text, without marks of its end."""
        with self._lock:
            return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    @cached_property
    def ends(self) -> frozenset[int]:
        """The tokenizer's own end of a text; a model may name more."""
        end = self._tokenizer.eos_token_id
        return frozenset() if end is None else frozenset({end})

    def _pieces(self, text: str) -> tuple[int, ...]:
        with self._lock:
            pieces = self._encode(text, special=False)
        while len(pieces) > 1 and not self.text(pieces[0]).strip():
            pieces = pieces[1:]
        return pieces

    def _encode(self, text: str, *, special: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=special))

    def _render(self, turns: Sequence[Turn]) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                [dict(turn) for turn in turns],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )

    def _without_system(self, turns: Sequence[Turn]) -> str:
        system, first, *later = turns
        joined = {"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}
        try:
            return self._render([joined, *later])
        except Exception as error:
            raise ModelError(f"the chat template fails: {_first(error)}") from None


def plain(turns: Sequence[Turn]) -> str:
    """A conversation for a model without a chat template."""
    said = "".join(f"{turn['role']}: {turn['content']}\n\n" for turn in turns)
    return f"{said}assistant:"


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
