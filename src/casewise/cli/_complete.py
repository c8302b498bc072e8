"""Completion of values that are being typed (``--install-completion``).

Nothing here is slow, prints or fails: what can't be known is not offered.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from casewise.choices import Delivery, protocol_names
from casewise.cli._main import case_files, contexts, protocols
from casewise.cli._main import measures as table
from casewise.files import cache_dir

Completer = Callable[[str], list[str]]

_PROVIDERS = {
    name: name.upper()
    for name in (
        *("anthropic", "azureai", "bedrock", "cloudflare", "fireworks", "google", "grok", "groq"),
        *("mistral", "ollama", "openai", "openrouter", "perplexity", "sambanova", "sglang"),
        *("together", "vllm"),
    )
} | {"bedrock": "AWS", "grok": "XAI"}
"""Providers by Inspect's names, and what their variables in the environment begin with."""

_KEYS = ("_API_KEY", "_BASE_URL", "_API_TOKEN", "_ACCESS_KEY_ID", "_PROFILE")
_CASES = (".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".csv")
_HF = "casewise-hf/"
_OWN_PROMPTS = [f"casewise:{language}" for language in ("en", "de", "es", "fr", "zh")]


def _quiet(offered: Callable[[str], Iterable[str]]) -> Completer:
    def complete(incomplete: str) -> list[str]:
        try:
            return [one for one in offered(incomplete) if one.startswith(incomplete)]
        except Exception:  # Whatever it is, a person who types can't mend it there.
            return []

    return complete


def one_of(names: Callable[[], Iterable[str]]) -> Completer:
    """Offer names."""
    return _quiet(lambda _: names())


def several(names: Callable[[], Iterable[str]]) -> Completer:
    """Offer names to join by commas, each of them once."""

    def offered(incomplete: str) -> Iterator[str]:
        given, comma, _ = incomplete.rpartition(",")
        left = [name for name in names() if name not in given.split(",")]
        return (f"{given}{comma}{name}" for name in left)

    return _quiet(offered)


def _models(incomplete: str) -> Iterator[str]:
    yield "casewise/smollm2"
    if incomplete.startswith(_HF):
        for path in _paths(incomplete.removeprefix(_HF), (".gguf",)):
            yield f"{_HF}{path}"
    else:
        yield _HF
    named = {name for name in os.environ if name.endswith(_KEYS) and os.environ[name]}
    for provider, prefix in _PROVIDERS.items():
        if any(f"{prefix}{key}" in named for key in _KEYS):
            yield f"{provider}/"
    for name in sorted(named):
        service = name.removesuffix("_BASE_URL")
        # A service of the user's own has its address in the environment, as openai-api needs it.
        if service != name and service not in _PROVIDERS.values():
            yield f"openai-api/{service.lower().replace('_', '-')}/"


def _case_sets() -> Iterator[str]:
    yield "starter"
    if (cache_dir() / "casebench").is_dir():
        yield "casebench"


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Folders, with a slash, and files of some kinds, beside what is typed."""
    folder, slash, begun = incomplete.rpartition("/")
    place = Path(f"{folder}{slash}").expanduser() if slash else Path()
    for path in sorted(place.iterdir()):
        if path.name.startswith(".") and not begun.startswith("."):
            continue
        if path.is_dir() or path.suffix in suffixes:
            yield f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}"


def _either(*completers: Completer) -> Completer:
    return lambda incomplete: [one for each in completers for one in each(incomplete)]


def _variations() -> Iterator[str]:
    """Changes of conversations by name, without those that take a number."""
    return (name for name, one in protocols.VARIATIONS.items() if name == one.title)


def _parts() -> list[str]:
    """Groups of a context, and single parameters."""
    return [*case_files.GROUPS, *(place.partition(".")[2] for place in contexts.PARAMETERS)]


def files(*suffixes: str) -> Completer:
    """Offer folders, and files with these suffixes."""
    return _quiet(lambda incomplete: _paths(incomplete, suffixes))


models = _quiet(_models)
prompts = _either(one_of(lambda: ["upstream", *_OWN_PROMPTS]), files(".txt", ".yaml"))
graders = _either(one_of(lambda: ["rules"]), models)
cases = _either(one_of(_case_sets), files(*_CASES))
cards = _either(one_of(lambda: case_files.CARDS), files(".yaml", ".yml"))
protocol_list = several(protocol_names)
delivery_list = several(lambda: Delivery)
measures = one_of(lambda: table.compared())
parts = several(_parts)
changes = several(_variations)
ladders = _either(one_of(lambda: [protocols.LADDER]), files(".yaml", ".yml"))
mappings = _either(one_of(lambda: case_files.MAPPINGS), files(".yaml", ".yml"))
