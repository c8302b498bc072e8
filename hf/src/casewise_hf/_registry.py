"""Entry point for Inspect: the provider of ``casewise-hf/PATH``."""

from inspect_ai.model import ModelAPI, modelapi


@modelapi(name="casewise-hf")
def casewise_hf() -> type[ModelAPI]:
    """The provider of Hugging Face models; PyTorch is imported with the first of them."""
    from casewise_hf.provider import HuggingFace

    return HuggingFace
