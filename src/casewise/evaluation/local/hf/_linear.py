"""Linear layers whose weights are laid out once for oneDNN, for fp32 on a CPU.

PyTorch multiplies fp32 matrices with MKL, which lays the weights out anew at each call and is slow
on processors that are not Intel's. oneDNN comes with PyTorch, too; ``torch.compile`` calls it in
the same way, but needs a C++ compiler where it runs.
"""

from collections.abc import Callable
from typing import Any

import torch

TOKENS = 256
"""The number of rows that weights are laid out for; others are computed as well."""

TOLERANCE = 1e-4
"""How far log-probabilities may be from those of the model as it was loaded."""

_TRIED = 8
"""Tokens with which a model is tried."""


class _Linear(torch.nn.Module):  # type: ignore[misc] # where torch is absent, it is Any
    """As ``torch.nn.Linear``, for inference."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        # An opaque tensor: some models ask it for its type and device.
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), TOKENS)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            rows, self.weight, self.bias, "none", [], ""
        )
        return found


def with_fast_layers(load: Callable[[], Any]) -> Any:
    """A model with its linear layers replaced, where it then says the same, and else as it was.

    Each layer's own weights go when its new ones are there: at no time are there two models. One
    that doesn't bear it is therefore loaded once more.
    """
    model = load()
    if model.dtype != torch.float32 or not _is_available():
        return model
    try:
        expected = _try(model)
    except Exception:  # a model that takes more than tokens raises whatever it likes
        return model
    if _bears_it(model, expected):
        return model
    del model
    return load()


def _is_available() -> bool:
    """Whether this PyTorch has the operations: not all builds and versions do."""
    try:
        with torch.inference_mode():
            _Linear(torch.nn.Linear(1, 1))(torch.ones(1, 1))
    except Exception:  # whatever it lacks
        return False
    return True


def _bears_it(model: Any, expected: torch.Tensor) -> bool:
    """Replace a model's layers, and tell whether it says what is expected."""
    try:
        # Who held a linear layer here would hold its weights, too.
        for module in [one for one in model.modules() if type(one) is not torch.nn.Linear]:
            for name, layer in list(module.named_children()):
                # Layers of other kinds that are made of this one do more than it.
                if type(layer) is torch.nn.Linear:
                    setattr(module, name, _Linear(layer))
        return bool((_try(model) - expected).abs().max() <= TOLERANCE)
    except Exception:  # a model that reads its layers' weights
        return False


def _try(model: Any) -> torch.Tensor:
    """What comes next after a few tokens, as log-probabilities."""
    most = model.config.get_text_config().vocab_size
    tokens = torch.arange(1, _TRIED + 1) * (most // (_TRIED + 1))
    with torch.inference_mode():
        found: torch.Tensor = model(input_ids=tokens[None], use_cache=False).logits
        return found[0, -1].log_softmax(-1)
