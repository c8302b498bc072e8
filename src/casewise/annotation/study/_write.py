"""Write a study as the YAML file that people edit."""

import re
from pathlib import Path
from typing import Any

import yaml

from casewise.annotation.study._study import Study
from casewise.files import write_atomically

_HEAD = """\
# A study of people's votes, made by `casewise annotate plan`. Before the first person comes, all
# texts and rules may be edited; seed, arms, votes, cases_hash and design belong together and stay.
# Once it runs, change nothing: people must be asked alike. What says TODO must be filled in.
"""

_ABOVE = {
    "title": "Shown to people at the top of every page.",
    "cases": "As seen from this file's folder. The hash stops the study should the cases change.",
    "arms": "The contexts that people see: none (the query alone), safe and unsafe (as intended).",
    "votes": "How many different people judge each cell.",
    "seed": "Of the design below, and of where attention checks stand.",
    "ask": "Asked beside safe or unsafe; people may leave these open.",
    "timing": "Limits of time.",
    "pay": "For the forecast of costs. What people are told of pay stands in consent.text.",
    "recruitment": "The platform, and the codes that tell it how a person's session ended.",
    "consent": "Read and agreed to first. Blank lines part paragraphs.",
    "instructions": "Read after consent.",
    "tutorial": "Worked examples, with the answer and why.",
    "comprehension": "Questions after the tutorial; who fails every attempt is not asked further.",
    "attention": "Pages that look like a case and say which answer to give.",
    "screening": "Rules that flag people, fixed before the start. Flags never delete a vote; null\n"
    "# switches a rule off.",
    "design": "Who judges what. Each cell is an arm and a case; each block is what one person\n"
    "# judges, in its order: places in cells, counted from 0. Written by a program; leave as is.",
}
_INSIDE = {
    "timing.least_seconds": "a sooner answer is not taken; null: by the words of each page",
    "timing.most_seconds": "a vote that took longer is marked",
    "timing.lease_minutes": "after its last answer; then another person may get the block",
    "pay.seconds_per_task": "a case or an attention check; null: by their words",
    "pay.minutes_besides": "consent, tutorial and questions; null: by their words",
    "pay.fee": "the platform's, as a share of the pay",
    "recruitment.platform": "none, prolific or mturk",
    "recruitment.return_url": "where people go at the end, with {code}; null shows the code",
    "consent.ethics": "the board that approved the study, and its number; or null",
    "ask.confidence": "1 (guessing) to 5 (certain)",
    "ask.reason": "in a few words",
    "comprehension.attempts": "at all questions together",
    "attention.per_person": "drawn from the checks",
    "screening.attention_failed": "flagged: who fails more checks",
    "screening.fast_share": "flagged: a greater share of votes faster than fast_seconds",
    "screening.fast_seconds": "null: by the words of each case",
    "screening.one_answer_share": "flagged: one answer to a greater share of at least 20 cases",
    "screening.agreement_p": "flagged: agrees less with others than they do, adjusted p below this",
}


class _Dumper(yaml.SafeDumper):
    """Paragraphs as they are read; lists indented under their name."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        plain = all(line.isprintable() for line in text.split("\n"))
        style = "|" if "\n" in text and plain else None if plain else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Dumper.add_representer(str, _Dumper.represent_text)


def study_yaml(study: Study) -> str:
    """The file of a study, with comments; ``load_study`` reads the very same study from it."""
    parts = [_HEAD]
    for name, value in study.model_dump(mode="json").items():
        text = yaml.dump(
            {name: _without_nulls(value)},
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=96,
        )
        if name in _ABOVE:
            parts.append(f"\n# {_ABOVE[name]}\n")
        parts.append(_commented(name, text))
    return "".join(parts)


def write_study(study: Study, path: Path) -> None:
    """Write the file of a study: beside it first, then renamed."""
    write_atomically(path, study_yaml(study).encode())


def _without_nulls(value: Any) -> Any:
    """Leave absent fields out of the records of a list; elsewhere null shows what could be set."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    return [
        {name: inner for name, inner in one.items() if inner is not None}
        if isinstance(one, dict)
        else one
        for one in value
    ]


def _commented(name: str, text: str) -> str:
    """Say at the end of a field's line what it is, unless its value goes on in the next."""
    for path, comment in _INSIDE.items():
        part, _, field = path.partition(".")
        if part == name:
            line = rf"(?m)^  {field}: (?![|>]).*$(?!\n   )"
            text = re.sub(line, rf"\g<0>  # {comment}", text, count=1)
    return text
