"""Models: one small protocol, adapters for APIs and local weights, a store before them, and a budget."""

from __future__ import annotations

from srdcr_lab.models.base import ChatModel
from srdcr_lab.models.load import load_model
from srdcr_lab.models.store import Store

__all__ = ["ChatModel", "Store", "load_model"]
