"""Other people's tools.

| name | what it is for |
|---|---|
| `export_policy` | a trained policy as one ONNX file |
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.integrations.onnx import export_policy as export_policy

__getattr__, __dir__, __all__ = attach(__name__, {"export_policy": ".onnx"})
