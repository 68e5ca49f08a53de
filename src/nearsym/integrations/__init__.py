"""Other people's tools: ONNX."""
