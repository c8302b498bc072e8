"""The rules of screening in sentences, and what of their signals was observed."""

from collections import Counter

from casewise.annotation.study.reading_times import FAST_SECONDS, UNDERSTOOD
from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_rules import Screening
from casewise.annotation.votes.collected import TOOL_ANSWERS, Collected
from casewise.annotation.votes.signals import LEAST_TIMES


def rules_in_words(rules: Screening) -> list[str]:
    """The rules that are on, a sentence each."""
    sentences = []
    if rules.attention_failed is not None:
        checks = "check" if rules.attention_failed == 1 else "checks"
        sentences.append(
            f"Attention: more than {rules.attention_failed} attention {checks} failed."
        )
    if rules.fast_share is not None:
        sentences.append(
            f"Fast: more than {rules.fast_share:.0%} of votes in less than "
            + (
                f"the words of the case take at {UNDERSTOOD:g} a minute, at least "
                f"{FAST_SECONDS:g} s."
                if rules.fast_seconds is None
                else f"{rules.fast_seconds:g} s."
            )
        )
    if rules.one_answer_share is not None:
        sentences.append(
            f"One answer: one answer to more than {rules.one_answer_share:.0%} of at least 20 "
            "cases, where the others' answers make that unlikely (p < .01)."
        )
    if rules.agreement_p is not None:
        sentences.append(
            "Agreement: agrees with the others less than these do among themselves; one-sided, "
            "exact, given how many answers of a kind the person gave, against those whom nothing "
            f"else flagged; p below {rules.agreement_p:g} after Benjamini and Hochberg's "
            "adjustment for the number of people."
            + ("" if (most := rules.agreement_most) is None else f" Nobody, if over {most:.0%}.")
        )
    if rules.honeypot_pages is not None:
        sentences.append(
            "Honeypot: followed on more than "
            f"{rules.honeypot_pages} pages the hidden text, which stands in the page's source and "
            "which people neither see nor hear."
        )
    if rules.left_share is not None:
        sentences.append(
            f"Left: more than {rules.left_share:.0%} of pages lost the focus before the answer."
        )
    if rules.copied_share is not None:
        sentences.append(
            f"Copied: the case was copied from, or something pasted, on more than "
            f"{rules.copied_share:.0%} of pages."
        )
    if rules.even_times is not None:
        sentences.append(
            "Times: the logarithms of the seconds of the middle four fifths of at least "
            f"{LEAST_TIMES} cases have a standard deviation below {rules.even_times:g}."
        )
    if rules.words_p is not None:
        sentences.append(
            "Times: the rank correlation of seconds with words is lower than other people's; "
            f"one-sided p below {rules.words_p:g} after the same adjustment."
        )
    if rules.tool_told:
        sentences.append("Tool: says at the end that a tool gave some or all of the answers.")
    return sentences or ["No rule was on."]


def observed_in_words(study: Study, collected: Collected) -> list[str]:
    """Of how many people the signals are known, a sentence each."""
    voted = {vote.rater for vote in collected.votes if vote.counted}
    people = [person for person in collected.people if person.rater in voted]
    sentences = []
    if study.screening.watches:
        trapped = sum(person.trap_pages is not None for person in people)
        watched = [person for person in people if person.watched]
        sentences.append(
            f"Of {len(people)} people with counted votes, {trapped} answered pages with hidden "
            f"text, and the pages of {len(watched)} counted focus and copies; of the others "
            "(scripts off, or asked elsewhere) that is absent."
        )
        if watched:
            names = ("watched", "left", "copied")
            pages, left, copied = (
                sum(getattr(person, name) for person in watched) for name in names
            )
            sentences.append(
                f"Of the {pages} pages that counted, {left} were left for another window or tab, "
                f"and {copied} copied from or pasted into."
            )
    if study.tool_question:
        said = Counter(person.tool for person in people)
        answers = ", ".join(f"{answer} {said[answer]}" for answer in TOOL_ANSWERS)
        sentences.append(f"Asked how many answers a tool gave: {answers}, not said {said[None]}.")
    return sentences
