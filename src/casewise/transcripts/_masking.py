"""Names, addresses, numbers and keys in conversations, masked before anything is sent."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import JsonValue

from casewise.cases import ToolCall, Turn, find_pieces
from casewise.errors import UsageError, install_hint

Mask = Callable[[tuple[Turn, ...]], tuple[Turn, ...]]
"""Changes the turns of one conversation, all of them together."""

_LABELS = {
    "e-mail address": "EMAIL",
    "account number": "ACCOUNT",
    "card number": "CARD",
    "US social security number": "ID",
    "UK national insurance number": "ID",
    "IP address": "IP",
    "phone number": "PHONE",
    "street address": "ADDRESS",
    "social handle": "HANDLE",
}
"""What a piece of each kind becomes: ``<EMAIL_1>``."""
