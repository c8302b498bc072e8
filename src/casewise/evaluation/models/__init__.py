"""Models that a run asks: their clients, their faults, their keys.

``open`` opens one; ``patient`` asks it, and asks again by the table of ``faults``; ``provider`` and
``completions`` are our client of servers that speak OpenAI's protocol. Others are Inspect's. Beside
them stand the embedded model (``_smollm2``, by ``_in_process``) and bots behind addresses of their
own (``_target``).
"""
