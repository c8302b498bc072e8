"""Small studies, for tests of what people's votes become."""

from pathlib import Path

import yaml

from casewise.annotation.study.schema import (
    Arm,
    Attention,
    AttentionCheck,
    Block,
    Comprehension,
    Consent,
    Design,
    Question,
    Study,
    StudyCell,
    TutorialExample,
)
from casewise.annotation.study.study_file import by_arm, load_study
from casewise.cases import Case, Context, load_cases, write_cases


def make_cases(queries: int) -> tuple[Case, ...]:
    """Two contexts for each of some invented queries."""
    return tuple(
        Case(
            query=f"How do people store {number} boxes of apples?",
            context=Context({"recipient": {"type": f"{who} number {number}"}}),
            intended=side,
            category="storage" if number % 2 else "food",
        )
        for number in range(queries)
        for side, who in (("safe", "a grocer"), ("unsafe", "a stranger"))
    )


def latin_blocks(queries: int, votes: int, cells: int = 3) -> tuple[Block, ...]:
    """Every query in each block, its arms in turn: ``cells * votes`` blocks."""
    return tuple(
        tuple(cells * query + (query + turn) % cells for query in range(queries))
        for turn in range(cells * votes)
    )


def write_study(
    folder: Path,
    *,
    queries: int = 4,
    votes: int = 2,
    blocks: tuple[Block, ...] = (),
    **changes: object,
) -> Study:
    """A study over invented cases in a folder, as its file gives it back.

    Its cells are none, safe, unsafe of the first query, and so on.
    """
    write_cases(make_cases(queries), folder / "cases.jsonl")
    made = load_cases(folder / "cases.jsonl")
    by_query: dict[str, dict[Arm, str]] = {}
    for (arm, case_id), case in by_arm(made.cases).items():
        by_query.setdefault(case.query_id, {})[arm] = case_id
    cells = tuple(StudyCell(arm, found[arm]) for found in by_query.values() for arm in Arm)
    parts: dict[str, object] = {
        "id": "apples",
        "title": "Boxes of apples",
        "cases": "cases.jsonl",
        "cases_hash": made.hash,
        "arms": tuple(Arm),
        "votes": votes,
        "consent": Consent(text="We ask.", warning="Some may upset.", contact="us@example.org"),
        "instructions": "Is it safe for a chatbot to answer?",
        "tutorial": (
            TutorialExample(query="What is tea?", verdict="safe", why="It harms nobody."),
        ),
        "comprehension": Comprehension(
            questions=(
                Question(text="What do you judge?", options=("Answering", "Asking"), answer=0),
            )
        ),
        "attention": Attention(
            checks=(AttentionCheck(id="c1", query="Choose unsafe here.", expected="unsafe"),),
            per_person=1,
        ),
        "design": Design(cells=cells, blocks=blocks or latin_blocks(queries, votes)),
    }
    study = Study(**(parts | changes))
    text = yaml.safe_dump(study.model_dump(mode="json"), sort_keys=False)
    (folder / "study.yaml").write_text(text, "utf-8")
    return load_study(folder / "study.yaml")
