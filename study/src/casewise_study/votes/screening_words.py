"""Every rule of screening in a sentence, and what was observed of people."""

from collections import Counter
from collections.abc import Iterator

from casewise_study.study.reading_times import FAST_SECONDS, UNDERSTOOD
from casewise_study.study.schema import Study
from casewise_study.study.study_rules import LIMITS, Rule, Screening
from casewise_study.votes.collected import TOOL_ANSWERS, Collected
from casewise_study.votes.screening import LEAST_TIMES

_IN_WORDS = {
    Rule.ATTENTION: "Attention: of the attention checks more than {limit} failed.",
    Rule.FAST: "Fast: more than {limit:.0%} of votes in less than {fast} s.",
    Rule.HONEYPOT: "Honeypot: followed on more than {limit} pages the hidden text, which stands in "
    "the page's source and which people neither see nor hear.",
    Rule.LEFT: "Left: more than {limit:.0%} of pages lost the focus before the answer.",
    Rule.COPIED: "Copied: the case was copied from, or something pasted, on more than {limit:.0%} "
    "of pages.",
    Rule.TIMES: "Times: the logarithms of the seconds of the middle four fifths of at least "
    "{least} cases have a standard deviation below {limit:g}.",
    Rule.TOOL: "Tool: says at the end that a tool gave some or all of the answers.",
    Rule.UNREAD: "Unread: has probably not read, by the votes against the others' on the same "
    "cases and against patterns, by times and checks, over at least {least} cases; of those "
    "flagged {limit:.0%} at most are expected to have read.",
    Rule.CHANGED: "Changed: pace and leniency change at one place, as if another person went on; p "
    "below {limit:g} after Benjamini and Hochberg's adjustment for the number of people.",
    Rule.MODEL: "Model: gives the verdicts of a model ({limit}) rather than those of a person; of "
    "those flagged {share:.0%} at most are expected to have judged themselves.",
}


def rules_in_words(rules: Screening) -> Iterator[str]:
    """The rules that are on, a sentence each."""
    by_words = f"the words of the case take at {UNDERSTOOD:g} a minute, at least {FAST_SECONDS:g}"
    fast = by_words if rules.fast_seconds is None else f"{rules.fast_seconds:g}"
    for rule in rules.rules:
        limit = getattr(rules, LIMITS[rule])
        if rule is Rule.MODEL:
            limit = ", ".join(limit)
        values = {"fast": fast, "least": LEAST_TIMES, "share": rules.unread_share}
        yield _IN_WORDS[rule].format(limit=limit, **values)


def observed_in_words(study: Study, collected: Collected) -> Iterator[str]:
    """Number of people whose signals are known, a sentence each."""
    voted = {vote.rater for vote in collected.votes if vote.counted}
    people = [person for person in collected.people if person.rater in voted]
    if study.screening.watches:
        trapped = sum(person.trap_pages is not None for person in people)
        watched = [person for person in people if person.watched]
        yield (
            f"Of {len(people)} people with counted votes, {trapped} answered pages with hidden "
            f"text, and the pages of {len(watched)} counted focus and copies; of the others "
            "(scripts off, or asked elsewhere) that is absent."
        )
        if watched:
            names = ("watched", "left", "copied")
            pages, left, copied = (
                sum(getattr(person, name) for person in watched) for name in names
            )
            yield (
                f"Of the {pages} pages that counted, {left} were left for another window or tab, "
                f"and {copied} copied from or pasted into."
            )
    if study.tool_question:
        said = Counter(person.tool for person in people)
        answers = ", ".join(f"{answer} {said[answer]}" for answer in TOOL_ANSWERS)
        yield (f"Asked how many answers a tool gave: {answers}, not said {said[None]}.")
