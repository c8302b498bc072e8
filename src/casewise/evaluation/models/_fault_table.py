"""The one table from what was said to what is done, and to the line that tells it.

Requests, targets and graders use it, and nothing else asks again. A row is a kind of
fault: what is done, a line of advice, and the forms in which providers say it. The first row with
a form that matches decides; a form that no row knows is what its status says.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from casewise.evaluation.models._said import UNTRUSTED, Said, plain_code, said_of

LONGEST_S = 3_600.0
"""Longest wait that is sensible, in seconds: who asks for more gets no request in this run."""


OUTAGE_TIMES = 14
"""Times that a request is asked again of a server that is down, or can't be reached: eight minutes
in all."""


class FaultKind(StrEnum):
    """Kind of fault of a request."""

    CONTENT_FILTER = "content_filter"
    """The provider's own filter; the case is counted as refused."""
    CONTEXT_TOO_LONG = "context_too_long"
    """The request is longer than the model's window; the case is counted as cut."""
    NO_CREDIT = "no_credit"
    BUDGET = "budget_reached"
    """The spending limit of a key or team, at the provider or a gateway."""
    AUTHENTICATION = "authentication"
    """A missing, wrong, revoked or expired key."""
    QUOTA = "quota_used_up"
    """No more requests for longer than is sensible to wait."""
    NO_MODEL = "model_not_found"
    REDIRECTED = "redirected"
    """HTTP 3xx: what was asked would go to another address."""
    NO_ACCESS = "no_access"
    """The key may not use the model, or not from this place."""
    UNTRUSTED = UNTRUSTED
    """A server whose certificate was refused: expired, of another host or authority."""
    RATE_LIMITED = "rate_limited"
    CONFLICT = "conflict"
    """HTTP 409 or 425: the same request may pass later."""
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"
    """HTTP 5xx."""
    CONNECTION = "connection"
    """Refused, reset, or cut before the answer was whole."""
    UNREADABLE = "unreadable_answer"
    """Not JSON, or of another form."""
    NO_CHOICES = "answer_without_choices"
    """An empty turn of the model; after one repetition, the case has an empty answer."""
    TOO_LONG = "answer_too_long"
    """Longer than any model writes."""
    OTHER_MODEL = "another_model"
    """The answer bears the name of another model."""
    REFUSED = "request_refused"
    """Another HTTP 4xx, which another attempt would meet again."""
    OTHER = "other"

    @property
    def words(self) -> str:
        """Name of the kind as it is printed."""
        return self.replace("_", " ")


class Then(StrEnum):
    """Reaction to a fault."""

    WAIT = "wait"
    """Ask again as often as needed, after the time that the provider names."""
    AGAIN = "ask again"
    """Ask again a number of times."""
    CASE = "give up this case"
    LEAVE = "leave this model"
    STOP = "stop the run"
    """Leave every model of the same address and key."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form in which a fault is said; all that it names must be there."""

    who: str
    """Providers that say it so."""
    status: tuple[int, ...] = ()
    codes: Mapping[str, str] = field(default_factory=dict)
    """Codes, types or reasons, one of which is said: as ``plain_code`` writes them, and as the
    provider does."""
    words: str = ""
    """Pattern within the message, in lower case."""
    names: str = ""
    """Pattern within the names of an exception's classes."""

    def matches(self, said: Said) -> bool:
        """Tell whether an error has this form."""
        return (
            (not self.status or said.status in self.status)
            and (not self.codes or not said.codes.isdisjoint(self.codes.keys()))
            and (not self.words or re.search(self.words, said.text) is not None)
            and (not self.names or re.search(self.names, " ".join(said.names)) is not None)
        )


def _form(who: str, *status: int, codes: str = "", words: str = "", names: str = "") -> Form:
    return Form(who, status, {plain_code(code): code for code in codes.split()}, words, names)


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of fault."""

    kind: FaultKind
    then: Then
    advice: str
    """Cause and remedy, after the name of the kind; empty where there is nothing to do."""
    forms: tuple[Form, ...]
    times: int = 0
    """Times that a request is asked again; nothing else asks a case again."""

    @property
    def is_final(self) -> bool:
        """Tell whether no later request of this run would do better."""
        return self.then in (Then.LEAVE, Then.STOP)


_LATER = "then run the same command"

TABLE = (
    Row(
        FaultKind.CONTENT_FILTER,
        Then.CASE,
        "the provider's filter stopped it",
        (
            _form(
                "OpenAI",
                400,
                403,
                codes="content_policy_violation invalid_prompt moderation_blocked bio_policy "
                "cyber_policy",
            ),
            _form("Azure", 400, codes="content_filter ResponsibleAIPolicyViolation"),
            _form("Anthropic", 400, words="content filtering policy"),
            _form("OpenRouter", 403, words="requires moderation|was flagged|input.*flagged"),
            _form("Bedrock", 400, words="blocked by (?:your )?content filter"),
            _form("Alibaba", 400, codes="data_inspection_failed"),
            _form("firewalls", 403, words="<html.*(?:blocked|attention required|web application)"),
            _form("streams", codes="content_filter content_policy_violation invalid_prompt"),
        ),
    ),
    Row(
        FaultKind.CONTEXT_TOO_LONG,
        Then.CASE,
        "the request is longer than the model's window",
        (
            _form("OpenAI, Azure", 400, codes="context_length_exceeded string_above_max_length"),
            _form("llama.cpp", 400, codes="exceed_context_size_error"),
            _form("Anthropic", 400, 413, words="prompt is too long|exceed context limit"),
            _form("Anthropic", 413, codes="request_too_large"),
            _form("Google", 400, words="input token count.* exceeds"),
            _form("Bedrock", 400, words="input is too long"),
            _form(
                "vLLM, OpenRouter, DeepInfra, Together",
                400,
                413,
                422,
                words="maximum context length|maximum model length|exceeds the available context|"
                "input length .*exceed|inputs? tokens? .*must be",
            ),
        ),
    ),
    Row(
        FaultKind.NO_CREDIT,
        Then.STOP,
        f"the account has no credit left: add some at the provider, {_LATER}",
        (
            _form(
                "OpenAI, Azure",
                codes="insufficient_quota billing_hard_limit_reached billing_not_active "
                "access_terminated",
            ),
            _form("Anthropic", 400, 403, words="credit balance is too low"),
            _form("Anthropic", codes="billing_error"),
            _form("Google", 400, 403, 429, words="credits? (?:are|is) depleted|billing account"),
            _form("OpenRouter, DeepSeek, Together", codes="insufficient_credits"),
            _form("OpenRouter, DeepSeek, Together, any other", 402),
        ),
    ),
    Row(
        FaultKind.BUDGET,
        Then.STOP,
        f"the spending limit of the key is reached: raise it at the provider or gateway, {_LATER}",
        (
            _form("LiteLLM", 400, 429, codes="budget_exceeded"),
            _form("LiteLLM", 400, 429, words="budget has been exceeded|exceeded budget"),
            _form("OpenRouter", 403, words="key limit exceeded|spend(?:ing)? limit"),
            _form("OpenAI", 429, codes="spending_limit_reached project_budget_exceeded"),
            _form("Anthropic", 400, 403, words="reached your specified api usage limits"),
        ),
    ),
    Row(
        FaultKind.AUTHENTICATION,
        Then.LEAVE,
        "the key is wrong, missing or expired: check the provider's ..._API_KEY, "
        "or the headers of a target",
        (
            _form("Google", 400, 403, codes="API_KEY_INVALID API_KEY_SERVICE_BLOCKED"),
            _form("Google", 400, 403, words="api key (?:not valid|expired|was reported)"),
            _form(
                "Bedrock",
                400,
                403,
                codes="UnrecognizedClientException InvalidSignatureException "
                "ExpiredTokenException IncompleteSignature MissingAuthenticationToken "
                "InvalidClientTokenId ExpiredToken",
            ),
            _form("OpenAI, Anthropic, Azure, vLLM, OpenRouter, any other", 401),
        ),
    ),
    Row(
        FaultKind.QUOTA,
        Then.LEAVE,
        "the provider takes no more requests for hours: run the same command then",
        (
            _form("Bedrock", 429, words="tokens per day|requests per day"),
            _form("Google", 429, words="per ?day|daily"),
            _form("OpenRouter, Groq", 429, words=r"per-day|per day|\(rpd\)|\(tpd\)"),
        ),
    ),
    Row(
        FaultKind.NO_MODEL,
        Then.LEAVE,
        "there is no such model, or no such path: check the model's name, and --model-base-url, "
        "the provider's ..._BASE_URL, or the url of a target",
        (
            _form("OpenAI, Azure", 400, 403, codes="model_not_found DeploymentNotFound"),
            _form("OpenRouter", 400, words="not a valid model id"),
            _form("Bedrock", 400, words="model identifier is invalid"),
            _form("OpenAI, Anthropic, Google, Azure, vLLM, Ollama, OpenRouter, any other", 404),
            _form("any", 410),
        ),
    ),
    Row(
        FaultKind.REDIRECTED,
        Then.LEAVE,
        "nothing was sent there; if the server has moved, write its new address into "
        "--model-base-url, the provider's ..._BASE_URL, or the url of a target",
        (_form("any", *range(300, 400)),),
    ),
    Row(
        FaultKind.NO_ACCESS,
        Then.LEAVE,
        "the key has no permission for this model, or from this place",
        (
            _form("OpenAI", 400, 401, codes="unsupported_country_region_territory"),
            _form("Google", 400, words="location is not supported|not available in your country"),
            _form("Bedrock", 400, codes="AccessDeniedException"),
            _form("OpenAI, Anthropic, Google, Azure, Bedrock, OpenRouter, any other", 403),
        ),
    ),
    Row(
        FaultKind.UNTRUSTED,
        Then.LEAVE,
        "the line says why: name a company's own authority in SSL_CERT_FILE, correct the address "
        "or the clock, or have the certificate renewed",
        (),
    ),
    Row(
        FaultKind.RATE_LIMITED,
        Then.WAIT,
        "",
        (
            _form(
                "Bedrock",
                codes="ThrottlingException TooManyRequestsException RequestLimitExceeded "
                "ProvisionedThroughputExceededException",
            ),
            _form("Google", 503, codes="RESOURCE_EXHAUSTED"),
            _form("OpenAI, Anthropic, Google, Azure, vLLM, OpenRouter, any other", 429),
        ),
    ),
    Row(FaultKind.UNREADABLE, Then.AGAIN, "", (), times=3),
    Row(FaultKind.NO_CHOICES, Then.AGAIN, "", (), times=1),
    Row(FaultKind.CONFLICT, Then.AGAIN, "", (_form("any", 409, 425),), times=8),
    Row(
        FaultKind.TIMEOUT,
        Then.AGAIN,
        "",
        (_form("any", 408, 504), _form("Bedrock", codes="ModelTimeoutException")),
        times=8,
    ),
    Row(
        FaultKind.SERVER_ERROR,
        Then.AGAIN,
        "",
        (
            _form("Bedrock", 424, codes="ModelErrorException"),
            _form("Bedrock", codes="ModelNotReadyException ServiceUnavailableException"),
            _form("any (Anthropic's 529 too)", *range(500, 600)),
        ),
        times=OUTAGE_TIMES,
    ),
    Row(
        FaultKind.REFUSED,
        Then.CASE,
        "",
        (_form("any", *range(400, 500)),),
    ),
    # It would be written, and paid, as long again.
    Row(FaultKind.TOO_LONG, Then.CASE, "", ()),
    Row(FaultKind.OTHER_MODEL, Then.AGAIN, "", (), times=3),
    Row(FaultKind.CONNECTION, Then.AGAIN, "", (), times=OUTAGE_TIMES),
    Row(FaultKind.OTHER, Then.AGAIN, "", (), times=3),
)
"""The rows, the narrow ones first."""

_EXCEPTIONS = (
    (FaultKind.TIMEOUT, _form("", names="Timeout")),
    (FaultKind.UNREADABLE, _form("", names="JSONDecodeError|Validation|Decod|NoStreamData")),
    (
        FaultKind.CONNECTION,
        _form("", names=r"OSError|ConnectionError|TransportError|ClientError|ProtocolError"),
    ),
)
"""Kinds of errors without a status, by the few names that all clients share."""

ROWS: Mapping[FaultKind, Row] = {row.kind: row for row in TABLE}


def row_of(error: BaseException | Said) -> Row:
    """Row of the table for an error, or for what was said."""
    said = error if isinstance(error, Said) else said_of(error)
    if said.kind in ROWS:
        return ROWS[FaultKind(said.kind)]
    for row in TABLE:
        if any(form.matches(said) for form in row.forms):
            too_long = row.then is Then.WAIT and (said.wait or 0) > LONGEST_S
            return ROWS[FaultKind.QUOTA] if too_long else row
    for kind, form in _EXCEPTIONS:
        if form.matches(said):
            return ROWS[kind]
    return ROWS[FaultKind.OTHER]


def kind_of(error: BaseException) -> FaultKind:
    """Kind of an error."""
    return row_of(error).kind


def kind_of_status(status: int) -> FaultKind:
    """Kind of an HTTP status of 300 or more, where nothing else is known."""
    return row_of(Said(status=status)).kind


def status_of(error: BaseException) -> int | None:
    """HTTP status of an error, if it has one."""
    return said_of(error).status


def status_words(status: int, kind: FaultKind | None = None) -> str:
    """Words for an HTTP status of 300 or more, with its kind; None is the usual one."""
    return f"HTTP {status} ({(kind or kind_of_status(status)).words})"
