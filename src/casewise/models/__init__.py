"""Models that a run asks: their clients, their faults, their keys.

``open`` opens one; ``patience`` asks it, and asks again by the table of ``faults``; ``chat`` is our
client of servers that speak OpenAI's protocol. Others are Inspect's. Beside them stand the embedded
model (``embedded``) and bots behind addresses of their own (``target``).
"""

from casewise.models.embedded import (
    GeneratedText,
    InProcess,
    plain_turns,
    to_output,
    too_long,
    weights_are_sound,
    weights_path,
)
from casewise.models.keys import redacted, refuse_password, refuse_secret
from casewise.models.open import TargetCheck, check_target
from casewise.models.patience import Prices
