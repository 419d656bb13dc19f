"""What the roles are told, and how their replies are read. One template file a role, in our own words."""

from srdcr_lab.prompts.messages import (
    OURS,
    Prompts,
    defuse,
    hashes,
    paraphrases,
    render,
    render_rewrite,
    sources,
    system_text,
)

__all__ = ["OURS", "Prompts", "defuse", "hashes", "paraphrases", "render", "render_rewrite", "sources", "system_text"]
