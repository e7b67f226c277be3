"""Lookahead decoding for local language models: several tokens per forward pass, never a different token."""

__version__ = "0.1.0"
