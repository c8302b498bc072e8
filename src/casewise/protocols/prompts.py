"""Prompt templates: ours, upstream's and a person's own; and the prompt of one case."""

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from casewise.cases import Case, casebench_templates
from casewise.choices import Delivery
from casewise.contexts import render_json
from casewise.errors import InputError, UsageError
from casewise.files import read_text
from casewise.protocols.conversations import Opening
from casewise.protocols.words import ENGLISH, base_language

if TYPE_CHECKING:
    from casewise.protocols.protocol import Protocol

UPSTREAM = "upstream"
"""The name, after ``--prompt``, of the templates that are fetched with CASE-Bench."""

OURS = "casewise"
"""The name of the templates that ship with casewise."""

EDITION = 1
_FIELDS = {"query", "context"}
# Doubled braces around a name are no field in either manner of writing.
_FIELD = re.compile(r"\{\{\w+\}\}|\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt with places for the query and, in most, the context."""

    version: str
    """Origin, and the first 8 hexadecimal characters of the SHA-256 of the text."""
    text: str
    is_doubled: bool
    """True if literal braces are written twice, in the manner of ``str.format``."""

    @property
    def fields(self) -> set[str]:
        """The fields that the template holds."""
        return {match[1] for match in _FIELD.finditer(self.text) if match[1]}

    def render(self, query: str, context: str) -> str:
        """Fill the places. Values go in as they are: braces in them mean nothing."""
        values = {"query": query, "context": context}
        if self.is_doubled:
            return self.text.format(**values)
        return _FIELD.sub(lambda match: values[match[1]] if match[1] else match[0], self.text)


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of one condition."""

    delivery: Delivery
    with_context: Template
    without_context: Template
    """Template for delivery ``none`` and for cases that have no context."""
    language: str = ENGLISH
    """Language of these two templates."""
    translations: Mapping[str, "Prompts"] = field(default_factory=dict)
    """Templates for cases of other languages, by language."""
    is_used: bool = True
    """True if any case is asked with the first two, and not with a translation."""
    is_reference: bool = False
    """True if letters of other scripts are escaped in every context, as the reference does, and not
    in English cases alone."""
    ladder: str = ""
    """Name and version of the evidence ladder whose words stand in the contexts; empty of none."""

    @property
    def version(self) -> str:
        """The version of every template that the delivery uses."""
        own = self.with_context if self.delivery is Delivery.JUDGE else self.without_context
        versions = [own.version] if self.is_used else []
        versions += [translation.version for translation in self.translations.values()]
        return " + ".join(filter(None, [*versions, self.ladder]))

    def render(self, case: Case) -> str:
        """The prompt of a case, in its language where there is a template in it."""
        translated = self.translations.get(base_language(case.language))
        if translated is not None:
            return translated.render(case)
        if self.delivery is Delivery.NONE or case.context is None:
            return self.without_context.render(render_query(case), render_json(None))
        ascii_only = self.is_reference or base_language(case.language) == ENGLISH
        context = render_json(case.context, ascii_only=ascii_only)
        return self.with_context.render(render_query(case), context)

    def answered_in(self, case: Case) -> str:
        """The language in which an answer is to be expected, beside English.

        That of the template; where it is English, that of the case.
        """
        own = base_language(case.language)
        return own if own in self.translations or self.language == ENGLISH else self.language

    def open(self, case: Case) -> Opening:
        """The prompt as a conversation of one turn."""
        return Opening((), (self.render(case),))


def render_query(case: Case) -> str:
    """The query; after the earlier turns, where there are any, as a transcript."""
    if not case.history:
        return case.query
    turns = [turn.line for turn in case.history]
    return "\n".join([*turns, f"user: {case.query}"])


def load_prompts(
    source: str | None,
    protocol: "Protocol",
    delivery: Delivery,
    languages: Iterable[str | None] = (),
) -> Prompts:
    """Load the templates of a condition.

    Args:
        source: None or ``casewise`` for ours, in the language of each case; ``casewise:LANGUAGE``
            for ours in one language; ``upstream`` for those fetched with CASE-Bench, else the path
            of a template with ``{query}`` and, unless the delivery is ``none``, ``{context}``. A
            template that is asked to go without a context is given ``{}``, as in the published
            runs that remove every group.
        protocol: The protocol, in which a model judges.
        delivery: ``judge``: the context stands in the prompt; ``none``: it doesn't.
        languages: The language tags of the cases. A case whose language has no template of ours
            is asked in English.

    Raises:
        InputError: The file is missing, or lacks a field, or has an unknown one.
        AssetError: Upstream's templates were not fetched.
        UsageError: A protocol or a delivery in which nothing is judged; a language, or upstream,
            without a template of the protocol.
    """
    if not {Delivery.JUDGE, delivery} <= set(protocol.deliveries):
        raise UsageError(f"no prompt judges under protocol {protocol} and delivery {delivery}")
    if source is None or source == OURS:
        bases = {base_language(language) for language in languages}
        translations = {
            language: _ours(protocol, delivery, language)
            for language in protocol.languages
            if language in bases
        }
        is_used = not bases or bool(bases - translations.keys())
        english = _ours(protocol, delivery, ENGLISH)
        return replace(english, translations=translations, is_used=is_used)
    if is_ours(source):
        language = source.removeprefix(f"{OURS}:")
        if language not in (ENGLISH, *protocol.languages):
            known = ", ".join((ENGLISH, *protocol.languages))
            raise UsageError(f"--prompt {source}: our templates are written in {known}")
        return _ours(protocol, delivery, language)
    if source == UPSTREAM:
        template = _upstream(protocol)
        return Prompts(delivery, template, template, is_reference=True)
    template = _from_file(Path(source), needs_context=delivery is not Delivery.NONE)
    return Prompts(delivery, template, template)


def is_ours(source: str) -> bool:
    """Tell whether a name after ``--prompt`` is one of ours, and no path."""
    return source == OURS or source.startswith(f"{OURS}:")


def _ours(protocol: "Protocol", delivery: Delivery, language: str) -> Prompts:
    def template(place: Delivery) -> Template:
        name, text = protocol.template(place, language)
        return parse_template(text, f"{OURS}/{name}")

    return Prompts(delivery, template(Delivery.JUDGE), template(Delivery.NONE), language)


def _upstream(protocol: "Protocol") -> Template:
    """Read a string constant of upstream's file; the file is never executed.

    Raises:
        AssetError: The file was not fetched.
        InputError: It has no such constant.
        UsageError: Upstream has no template for the protocol.
    """
    path, name = casebench_templates(), protocol.upstream
    if name is None:
        raise UsageError(f"--prompt {UPSTREAM}: there is none for protocol {protocol}")
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Constant(value=str(text))):
                if found == name:
                    return parse_template(text, f"{UPSTREAM}/{name}")
    raise InputError("holds no such template", file=path, field=name)


def _from_file(path: Path, *, needs_context: bool) -> Template:
    if not path.exists():
        raise InputError(
            "no such template",
            file=path,
            expected=f"'{OURS}', '{UPSTREAM}' or the path of a template",
        )
    text = read_text(path)
    try:
        template = parse_template(text, f"file/{path.name}")
    except UsageError as error:
        raise InputError(str(error), file=path) from None
    needed = ("query", "context") if needs_context else ("query",)
    for name in needed:
        if name not in template.fields:
            raise InputError(f"the template lacks {{{name}}}", file=path, field=name)
    return template


def parse_template(text: str, origin: str) -> Template:
    """Split a template into literal text and fields.

    A template in the manner of ``str.format`` writes literal braces twice. One that is not
    (a JSON example with single braces, say) is taken literally but for its fields.

    Raises:
        UsageError: The template has a field of another name.
    """
    version = f"{origin}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    try:
        text.format(query="", context="")
    except (ValueError, LookupError, AttributeError):
        template = Template(version, text, is_doubled=False)
        if unknown := sorted(template.fields - _FIELDS):
            raise UsageError(
                f"unknown field {{{unknown[0]}}} in the template (the fields are {{query}} and "
                f"{{context}}; write literal braces twice, everywhere)"
            ) from None
        return template
    return Template(version, text, is_doubled=True)
