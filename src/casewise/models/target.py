"""Targets, as Inspect's models: a bot behind an address, or a Python function.

This is the provider of ``casewise-target/NAME``. To Inspect a target is a model like any other,
with the same retries, limits, logs and resumption.
"""

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio.to_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from casewise.cases import digest
from casewise.choices import FUNCTION, TARGETS
from casewise.errors import CasewiseError, ModelError, UsageError, choose_from
from casewise.files.yaml import read_model
from casewise.logs import message_text
from casewise.models.chat import openai_form
from casewise.models.faults import FailedRequestError, FaultKind, classify
from casewise.models.keys import MissingError, redacted
from casewise.models.target_file import TargetFile
from casewise.models.target_http import Bot, TargetAnswer

SESSION = "session"
"""Key in a reply's metadata of the id of its conversation."""
CASE = "case"
"""Key in a message's metadata of what a target is told of the case: query, context, category."""


def tell_case(messages: Sequence[ChatMessage], case: Mapping[str, Any]) -> list[ChatMessage]:
    """A conversation whose last message carries the case to a target.

    Args:
        messages: The conversation.
        case: Query, context and category, each None where the target is not told it.
    """
    *earlier, last = messages
    return [*earlier, last.model_copy(update={"metadata": {CASE: dict(case)}})]


def _places_in(value: Any, place: str) -> Iterator[str]:
    """Places of a part of a context, and of what it holds: ``context.sender.channel``."""
    if value is not None:
        yield place
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        yield from _places_in(inner, f"{place}.{name}")


Function = Callable[[list[dict[str, Any]]], Any]


@dataclass(frozen=True, slots=True)
class Target:
    """A checked target."""

    reference: str
    """Path of its file, or MODULE:FUNCTION."""
    name: str
    spec: TargetFile | Function
    arguments: dict[str, Any]
    """Arguments of its model's client, by which logs, a resumed run and a cluster find it again."""

    @property
    def model(self) -> str:
        """Name of its model in Inspect."""
        return f"{TARGETS}/{self.name}"

    @property
    def timeout(self) -> int | None:
        """Seconds after which a request is given up, unless the run sets them."""
        return self.spec.timeout if isinstance(self.spec, TargetFile) else None

    @property
    def places(self) -> frozenset[str]:
        """Placeholders of its file; a function has none."""
        return self.spec.places if isinstance(self.spec, TargetFile) else frozenset()

    @property
    def unsent(self) -> dict[str, None]:
        """Settings of the generation that nothing takes to the bot; no log states them."""
        return dict.fromkeys({*_SETTINGS, "top_k"} - self.places)

    def check(
        self,
        conversations: Iterable[Sequence[str]],
        settings: Iterable[str],
        tools: bool,
        cases: Iterable[Mapping[str, Any]],
        contexts: Iterable[Mapping[str, Any]],
        of_card: bool,
    ) -> None:
        """Refuse conversations, settings, tools or cases that would not all reach the bot.

        Args:
            conversations: Roles of each one's messages before the first reply.
            settings: Names of settings of the generation.
            tools: Whether the deployment has tools, which no target is given.
            cases: What the bot is told of each case; see ``tell_case``.
            contexts: Whole contexts of the data.
            of_card: Whether they are a deployment card's, all of which have the same.

        Raises:
            UsageError: Some would not.
        """
        spec = self.spec
        for name in settings:
            if name not in self.places:
                raise UsageError(f"{self.reference}: nothing takes the setting {name} to the bot")
        if tools:
            raise UsageError(
                f"{self.reference}: a target is given no tools: leave them to the bot, and out "
                "of the card; a bot that takes them in OpenAI's form is a model "
                "openai-api/SERVICE/MODEL"
            )
        if not isinstance(spec, TargetFile):
            return
        parts, names = spec.context_parts, dict[str, None]()
        for context in contexts if parts else ():
            names |= dict.fromkeys(_places_in(context, "context"))
        for name in sorted(parts - names.keys()):
            if of_card or not names:
                raise UsageError(
                    f"{self.reference}: no case or conversation here has a context of its own for "
                    f"{{{name}}}: use a target without {{context...}}"
                )
            raise UsageError(
                f"{self.reference}: no case has {{{name}}}: {choose_from(name, names)}"
            )
        problems = [map(spec.case_problem, cases), map(spec.conversation_problem, conversations)]
        if problem := next(filter(None, chain(*problems)), None):
            raise UsageError(f"{self.reference}: {problem}")

    @property
    def context_parts(self) -> list[str]:
        """Placeholders by which requests hold the context of a case, or parts of it, themselves."""
        return sorted(self.spec.context_parts) if isinstance(self.spec, TargetFile) else []


def load_target(reference: str, folder: Path | str | None = None) -> Target:
    """Read a target's file, or import its function; nothing is sent.

    Args:
        reference: A file, or MODULE:FUNCTION.
        folder: Folder of the file, or of the module, if it is not installed; None is the current
            folder.

    Raises:
        InputError: The file can't be used.
        UsageError: There is no such function, or it can't be called with messages.
    """
    place = Path(folder or "")
    path = place / reference
    if FUNCTION.fullmatch(reference) and not path.exists():
        return _load_function(reference, str(place.resolve()))
    spec = read_model(path, TargetFile, "target")
    version = digest(spec.model_dump(mode="json", exclude={"timeout"}))
    arguments = {"target": str(path.resolve()), "version": f"v{version}"}
    return Target(reference, spec.name, spec, arguments)


def _load_function(reference: str, folder: str) -> Target:
    file, _, name = reference.partition(":")
    module_name = file.removesuffix(".py")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the module raises
        if isinstance(error, ModuleNotFoundError) and error.name == module_name.split(".")[0]:
            raise UsageError(
                f"{reference}: no such module: expected {module_name.replace('.', '/')}.py in "
                f"{folder}, a package that is installed, or the file of a target"
            ) from None
        raise UsageError(
            f"{reference}: can't be imported: {_raised(error)}: {redacted(str(error))}"
        ) from None
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(
            f"{reference}: {module_name} has no function {name!r}: expected "
            f"def {name}(messages: list[dict]) -> str"
        )
    source = inspect.getsourcefile(module)
    text = Path(source).read_text("utf-8", errors="replace") if source else ""
    arguments = {"target": reference, "folder": folder, "version": f"v{digest(name, text)}"}
    return Target(reference, reference, function, arguments)


def _raised(error: Exception) -> str:
    """Type of an error, and the line that raised it; its message may quote what was asked."""
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if not frame.filename.startswith("<")]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{where}"


def open_again(arguments: Mapping[str, Any]) -> Target:
    """Load the target that a client's arguments name.

    Raises:
        InputError: Its file can't be used.
        ModelError: It was changed since the run was planned; or none is named.
        UsageError: There is no such function.
    """
    reference, version = arguments.get("target"), arguments.get("version")
    if not reference:
        raise ModelError("a target is named by its file: casewise run --model target.yaml")
    target = load_target(str(reference), arguments.get("folder"))
    if version not in (None, target.arguments["version"]):
        raise ModelError(
            f"{reference}: it was changed since the run was planned: start the run again"
        )
    return target


class TargetModel(ModelAPI):
    """A target as Inspect's model."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, config=config)
        if base_url is not None:
            raise ModelError("the address of a target stands in its file, and nowhere else")
        self.target = open_again(model_args)
        self.client: Bot | None = None
        """Client of a bot behind an address; None for a function."""
        if isinstance(spec := self.target.spec, TargetFile):
            if variables := spec.missing():
                raise MissingError(f"{self.target.reference}, {variables}")
            self.client = Bot(spec)
            self.base_url = self.client.base_url

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Send the conversation, and read the reply.

        Raises:
            ResponseError: The bot's status is no success.
            FailedRequestError: The function raised an error.
            ModelError: The target doesn't fit the conversation.
            UnreadAnswerError: The answer has no reply.
        """
        if self.client is None:
            return self._output(await self._call(await openai_form(input)))
        spec = self.client.spec
        turns = [message.text for message in input if isinstance(message, ChatMessageUser)]
        case = (input[-1].metadata or {}).get(CASE) or {"query": turns[-1]}
        if problem := spec.case_problem(case):
            raise ModelError(f"{self.target.reference}: {problem}")
        goes_on = any(message.source == "generate" for message in input)
        session = _session(input) if goes_on or spec.session else uuid4().hex
        if not goes_on and (
            problem := spec.conversation_problem([message.role for message in input])
        ):
            raise ModelError(f"{self.target.reference}: {problem}")
        replays = spec.history == "replay" and not goes_on and not spec.sends_history
        values = case | await self._values(spec, input, config)
        reading = TargetAnswer()
        for last in turns if replays else turns[-1:]:
            reading = await self.client.ask(values | {"last": last, "session": session})
            session = reading.session or session
        return self._output(reading, session if "session" in spec.places else None)

    async def _call(self, messages: list[dict[str, Any]]) -> TargetAnswer:
        """Result of the function, called in a thread unless it is asynchronous."""
        function, reference = self.target.spec, self.target.reference
        assert not isinstance(function, TargetFile)
        try:
            if inspect.iscoroutinefunction(function):
                result = await function(messages)
            else:
                result = await anyio.to_thread.run_sync(function, messages, abandon_on_cancel=True)
        except CasewiseError:
            raise
        except Exception as error:  # whatever the function raises
            fault = replace(classify(error), reason=_raised(error))
            raise FailedRequestError(fault) from None
        if isinstance(result, str):
            return TargetAnswer(result)
        if isinstance(result, Mapping) and isinstance(result.get("content"), str):
            return TargetAnswer(result["content"], bool(result.get("refused")))
        raise ModelError(
            f"{reference} returned {type(result).__name__}: expected a text, or a mapping with "
            "content (a text) and refused (true where it declined)"
        )

    async def _values(
        self,
        spec: TargetFile,
        input: list[ChatMessage],
        config: GenerateConfig,
    ) -> dict[str, Any]:
        """Values of the placeholders, but for those that change from turn to turn."""
        system = "\n\n".join(message.text for message in input if message.role == "system")
        shown = [
            message for message in input if message.role != "system" or "system" not in spec.places
        ]
        return {
            "messages": await openai_form(shown),
            "text": _as_text(shown),
            "system": system or None,
            "model": self.target.name,
            **{name: getattr(config, name) for name in _SETTINGS},
            **spec.environment(),
        }

    def _output(self, reading: TargetAnswer, session: str | None = None) -> ModelOutput:
        # A bot may repeat the key that it was sent.
        output = ModelOutput.from_content(
            self.model_name,
            redacted(reading.reply),
            "content_filter" if reading.refused else "stop",
        )
        metadata: dict[str, Any] = {SESSION: session} if session is not None else {}
        output.message.metadata = metadata | ({FaultKind.DECLINED: True} if reading.refused else {})
        if reading.usage is not None:
            tokens_in, tokens_out = reading.usage
            total = tokens_in + tokens_out
            output.usage = ModelUsage(
                input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=total
            )
        return output


_SETTINGS = ("max_tokens", "temperature", "top_p", "seed")
"""Placeholders for settings of the generation."""


def _session(input: Sequence[ChatMessage]) -> str | None:
    """Id of the conversation in the bot's newest reply that has one."""
    replies = [
        message.metadata or {} for message in reversed(input) if message.source == "generate"
    ]
    return next((str(reply[SESSION]) for reply in replies if reply.get(SESSION) is not None), None)


def _as_text(messages: Sequence[ChatMessage]) -> str:
    """A conversation as one text: each message after its role, unless there is only one."""
    if len(messages) == 1:
        return messages[0].text
    return "\n\n".join(
        f"{message.role.capitalize()}: {message_text(message)}" for message in messages
    )
