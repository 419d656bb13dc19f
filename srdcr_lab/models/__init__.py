"""Models: one small protocol, adapters for APIs and local weights, a store before them, and a budget."""

from srdcr_lab.models.base import ChatModel
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.models.store import Store

__all__ = ["ChatModel", "Store", "model_of_spec"]
