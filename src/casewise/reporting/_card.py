"""The evaluation card as Markdown, with the commands that make its runs again."""

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import casewise
from casewise import scores, sheets
from casewise.cases import CASEBENCH, STARTER
from casewise.choices import CARDS
from casewise.judgements import RunRecord
from casewise.measures import Scoring
from casewise.reporting._card_tables import (
    NOT_RECORDED,
    acting_table,
    context_table,
    corrected_table,
    cost_table,
    coverage_table,
    judging_table,
    rename,
    reply_table,
    run_tables,
)
from casewise.reporting._scores import baseline_text
from casewise.results import (
    Scores,
    Verdict,
    baselines_read,
    cut_notes,
    heavy_notes,
    leaderboard_lines,
    leading,
    mass_warnings,
    rules_remark,
    wording,
)
from casewise.sheets import plural

if TYPE_CHECKING:
    from jinja2 import Template


LOG_DIR = "repeat"
"""Folder that the commands write their logs to."""

_SHIPPED = {"cases": (STARTER, CASEBENCH), "prompt": ("ours", "upstream"), "deployment": CARDS}
"""Values of each option that name what ships, not a file."""


def repeating(facts: scores.EvaluationFacts) -> dict[str, Any]:
    """Commands that make the runs and the card again, and facts that they don't hold."""
    records = [record for run in facts.runs for record in run.records]
    options = _scoring_options(facts)
    lines = [shell_line([*arguments, "--log-dir", LOG_DIR]) for arguments in facts.commands]
    lines.append(shell_line(["report", LOG_DIR, *options, "--out", "card.md"]))
    again = shell_line(["report", *facts.sources, *options, "--out", "card.md"])
    return {
        "commands": sheets.code_block(" &&\n".join(lines), "sh") if facts.commands else "",
        "again": sheets.code_block(again, "sh"),
        "files": sorted({*facts.checks, *(name for one in records for name in _files(one))}),
        "redacted": any(record.redacted for record in records),
        "hidden": facts.hidden,
        "hidden_settings": sorted({name for one in records for name in one.hidden_generate}),
        "addressed": any(record.own_address for record in records),
        "epochs": max((run.epochs for run in facts.runs), default=1),
        "unrecorded": any(one.kind is scores.LimitKind.NOT_RECORDED for one in facts.limits),
    }


def shell_line(arguments: Sequence[str]) -> str:
    """A command for a POSIX shell."""
    return shlex.join(("casewise", *arguments))


def _scoring_options(facts: scores.EvaluationFacts) -> list[str]:
    """Options of ``casewise report`` that are not at their defaults."""
    given, usual = facts.scoring, Scoring()
    options = [
        (f"--{name.replace('_', '-')}", str(getattr(given, name)))
        for name in ("labels", "unparsed", "ties", "weigh_by")
        if getattr(given, name) != getattr(usual, name)
    ]
    options += [("--grader-check", name) for name in facts.checks]
    options += [("--seed", str(facts.seed))] if facts.seed else []
    return list(chain.from_iterable(options))


def _files(record: RunRecord) -> list[str]:
    """Files that the command of a run names."""
    asked = {name: str(record.asked[name]) for name in _SHIPPED if name in record.asked}
    if "deployment" in asked:
        asked.pop("cases", None)
    return [value for name, value in asked.items() if value not in _SHIPPED[name]]


NAMED_CATEGORIES = 12
"""Most categories that are named; more are counted."""


def evaluation_card(overview: scores.Overview, facts: scores.EvaluationFacts) -> str:
    """A card in Markdown, the same for the same inputs, without any text of a case or an answer.

    Args:
        overview: The scores.
        facts: What was run, and how; gathered for the same judgements.
    """
    shown = {run.condition.model: run.model for run in facts.runs}

    def told(lines: Sequence[str]) -> list[str]:
        return [rename(line, shown) for line in lines]

    text = _template().render(
        models=list(dict.fromkeys(shown.values())),
        names=list(dict.fromkeys(one.name for one in facts.data if one.name)),
        states=told(Scores.of(overview.report).state_lines),
        first=[
            (one.kind, rename(one.subject, shown), " ".join(told(one.said)), _figures(one))
            for one in leading(overview).leading
        ],
        **_truth(overview, facts),
        **_results(overview, facts, shown),
        **repeating(facts),
        tables=run_tables(facts.runs),
        runs=facts.runs,
        version=casewise.__version__,
        seed=facts.seed,
        left_out=facts.left_out,
        notes=facts.notes,
        limits=facts.limits,
        rules_remark=rename(rules_remark(overview.scores), shown),
        low_mass=told(mass_warnings(overview.scores)),
        cut=told(
            [
                *cut_notes(overview.scores),
                *heavy_notes(overview.scores),
            ]
        ),
    )
    return text.strip() + "\n"


def _figures(found: Verdict) -> sheets.Table:
    """A row for each figure of a run: share, baseline, definition."""
    return sheets.Table(
        list(map(sheets.Column, ("", "share (95 %)", "baseline", "what it is"))),
        [sheets.Row([one.title, one.text, one.against or None, one.told]) for one in found.figures],
    )


def _truth(overview: scores.Overview, facts: scores.EvaluationFacts) -> dict[str, Any]:
    """Data and labels."""
    acted = [score for score in overview.scores if score.acts]
    judged = [score for score in overview.scores if not score.acts]
    words, replies = wording(*judged), wording(*acted)
    return {
        "data": _data_table(facts.data),
        "rules": list(dict.fromkeys(one.labels for one in overview.scores)),
        "ties": facts.scoring.ties,
        "policy": facts.scoring.unparsed,
        "against": words.against,
        "whom": words.whom,
        "graded": words.graded,
        "read": baselines_read(map(baseline_text, overview.report.baselines), words),
        "safe": replies.safe,
        "unsafe": replies.unsafe,
        "people": _people(facts.voters),
        "categories": list(dict.fromkeys(_categories(one) for one in facts.data)),
    }


def _results(
    overview: scores.Overview, facts: scores.EvaluationFacts, shown: Mapping[str, str]
) -> dict[str, Any]:
    """Tables of what came out."""
    numbered = [
        (place, run, score)
        for place, (run, score) in enumerate(zip(facts.runs, overview.scores, strict=True), 1)
    ]
    judged = [one for one in numbered if not one[2].acts]
    acted = [one for one in numbered if one[2].acts]
    usages = overview.usages
    return {
        "judging": judging_table(judged, overview.report, shown) if judged else None,
        "judging_lines": [rename(line, shown) for line in leaderboard_lines(overview, acts=False)],
        "contexts": context_table(judged),
        "acting": acting_table(acted) if acted else None,
        "acting_lines": [rename(line, shown) for line in leaderboard_lines(overview, acts=True)],
        "replies": reply_table(acted),
        "corrected": corrected_table(overview, shown),
        "coverage": coverage_table(numbered),
        "costs": cost_table(numbered, usages) if any(map(_is_known, usages)) else None,
        "no_dollars": any(one.cost_usd is None for one in usages),
    }


@cache
def _template() -> "Template":
    # Only a card needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    room = Environment(
        loader=PackageLoader("casewise.reporting"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    room.filters |= {
        "md": sheets.escape,
        "number": sheets.number,
        "table": sheets.to_markdown,
        "plus_one": lambda place: str(place + 1),
        "reasons": _reasons,
    }
    return room.get_template("card.md.j2")


def _is_known(one: scores.Usage) -> bool:
    return one.latency_s is not None or one.known > 0


def _data_table(data: Sequence[scores.DataFacts]) -> sheets.Table:
    rows = [
        sheets.Row(
            [
                one.name or NOT_RECORDED,
                one.version or "none",
                one.hash,
                NOT_RECORDED if one.size is None else one.size,
                one.cases,
                one.queries,
                len(one.categories),
                *(one.intended.get(side, 0) for side in ("safe", "unsafe")),
                one.voted,
                one.published,
            ]
        )
        for one in data
    ]
    heads = ("cases in it", "cases judged", "queries", "categories", "intended safe")
    more = ("intended unsafe", "cases with votes", "published rates")
    names = [sheets.Column(name) for name in ("data set", "version", "hash")]
    return sheets.Table([*names, *sheets.figures(sheets.Kind.COUNT, *heads, *more)], rows)


def _people(one: scores.Voters) -> str:
    people = str(one.most) if one.fewest == one.most else f"{one.fewest} to {one.most}"
    voted = f"{people} people a case, {plural(one.votes, 'vote')} on {plural(one.cases, 'case')}"
    return voted if one.cases else ""


def _categories(one: scores.DataFacts) -> str:
    names = one.categories
    if len(names) > NAMED_CATEGORIES:
        return f"{len(names)}; the first by name is {names[0]}, the last {names[-1]}"
    return ", ".join(names) or "none"


def _reasons(one: scores.Uncounted) -> str:
    """Cases and judgements that a run left out, with the reasons."""
    parts = []
    if one.not_asked:
        why = {
            scores.Reason.LIMIT: "only the first were asked",
            scores.Reason.CHANGE: "the change means nothing for them",
            scores.Reason.UNKNOWN: "why is not recorded",
        }[one.reason]
        parts.append(f"{plural(one.not_asked, 'case')} of the data set not asked ({why})")
    if one.unlabelled:
        parts.append(f"{plural(one.unlabelled, 'judgement')} without a label under the rule")
    if one.unread:
        statuses = ", ".join(f"{count} {name}" for name, count in one.unread.items())
        parts.append(f"answers that were not read: {statuses}")
    return "; ".join(parts)
