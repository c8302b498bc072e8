"""The task ``casewise/respond``: a model plays the chatbot; does it answer, or refuse?

inspect eval casewise/respond -T delivery=claimed -T cases=FILE --model openai/gpt-4o
inspect eval casewise/respond -T deployment=therapy-support --model vllm/NAME
"""

from collections.abc import Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import get_model

from casewise.cases import STARTER, digest
from casewise.errors import CasewiseError
from casewise.evaluation._condition import Condition, choose, make_condition
from casewise.evaluation._converse import converse
from casewise.evaluation._reply_scorer import GRADER, grade_reply
from casewise.evaluation._samples import script_sample, task_metadata, to_sample
from casewise.evaluation._sampling import Sampling, make_draw, resolve_sampling
from casewise.evaluation.seam import PrerequisiteError
from casewise.protocols import GRADE_VERSION, READER_VERSION, Protocol

VERSION = "1-A"
"""A number for the comparability of results, a letter for the interface."""


@task
def respond(
    cases: str = STARTER,
    delivery: str | None = None,
    ablate: str | Sequence[str] | None = None,
    swap: str | None = None,
    deployment: str | None = None,
    variation: str | None = None,
    seed: int = 0,
    grader: str | None = None,
    sampling: str = Sampling.GREEDY,
    limit: int | None = None,
    max_tokens: int | None = None,
    model_name: str | None = None,
    draw_seed: int | None = None,
) -> Task:
    """Ask a model in the place of the chatbot, and grade its replies.

    Args:
        cases: ``starter``, ``casebench`` or a file of cases.
        delivery: ``system`` (the deployer's verified description), ``claimed`` (the user asserts
            it), ``history`` (it comes out over earlier turns) or ``none``.
        ablate: Groups or parameters to remove from every context, joined by commas.
        swap: A parameter or group that every case takes from its twin.
        deployment: A card: its name or file; its cases are asked under its system message.
        variation: How every conversation is changed: ``urgency``, ``filler-4k``...
        seed: Of the variation.
        grader: A model that grades the replies; None is the offline reader.
        sampling: ``greedy``, ``reference``, ``reference-api`` or ``reference-open``.
        limit: Only the first cases of the file.
        max_tokens: Longest reply.
        model_name: The model whose sampling is meant, where it isn't the run's; the embedded
            model's replies are shorter, if it is named.
        draw_seed: Tells repetitions apart where replies are drawn at random.
    """
    try:
        condition = make_condition(
            cases,
            protocol=Protocol.RESPOND,
            delivery=delivery,
            ablate=ablate,
            swap=swap,
            limit=limit,
            deployment=deployment,
            variation=variation,
            seed=seed,
            draw_seed=draw_seed,
        )
    except CasewiseError as error:
        # Inspect shows this one without a traceback.
        raise PrerequisiteError(str(error)) from error
    chosen = choose(Sampling, sampling, "sampling")
    model = "" if chosen is Sampling.GREEDY and not model_name else model_name or str(get_model())
    settled = resolve_sampling(chosen, model)
    draw = make_draw(Protocol.RESPOND, settled, model=model, max_tokens=max_tokens)
    samples = [to_sample(case, condition, draw) for case in condition.cases]
    if condition.script is not None:
        samples.append(script_sample(condition.script, condition.system))
    return Task(
        dataset=MemoryDataset(samples, name=condition.data.name),
        solver=converse(),
        scorer=grade_reply(grader=grader),
        config=draw.config,
        model_roles={GRADER: grader} if grader else None,
        version=respond_version(condition, grader),
        metadata=task_metadata(condition, settled, draw)
        | {
            "grader": grader or "rules",
            "grader_version": GRADE_VERSION if grader else READER_VERSION,
        },
    )


def respond_version(condition: Condition, grader: str | None) -> str:
    """The task's version, a part of its identity.

    Other cases or another wording under the same name, of the grading too where a model grades,
    are not taken for those that a folder of logs already answers.
    """
    made_of = [condition.data.hash, condition.prompts.version, condition.variation_version]
    return f"{VERSION}+{digest(*made_of, *([GRADE_VERSION] if grader else []))}"
