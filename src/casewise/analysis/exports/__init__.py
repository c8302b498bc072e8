"""Export judgements, logs and cases in formats that others read; texts on request."""

from casewise.analysis.exports._export import export_to
from casewise.analysis.exports._form import (
    CONTENT_WARNING,
    Exported,
    ExportForm,
    ExportRequest,
    form_of,
)

__all__ = ["CONTENT_WARNING", "ExportForm", "ExportRequest", "Exported", "export_to", "form_of"]
