"""What the roles are told, and how their replies are read. One template file a role, in our own words."""

from srdcr_lab.prompts.messages import OURS, Prompts, defuse, hashes, render, sources, system_text
from srdcr_lab.prompts.own import own_prompts

__all__ = ["OURS", "Prompts", "defuse", "hashes", "own_prompts", "render", "sources", "system_text"]
