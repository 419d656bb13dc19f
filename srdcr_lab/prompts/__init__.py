"""The prompts of the roles, one template file per role in our own words, and the readers of their replies."""

from srdcr_lab.prompts.messages import OURS, Prompts, hashes, paraphrases, render, render_rewrite, sources, system_text

__all__ = ["OURS", "Prompts", "hashes", "paraphrases", "render", "render_rewrite", "sources", "system_text"]
