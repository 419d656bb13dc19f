"""What every protocol is given beside the item: who plays which role, the choices, the exemplars, the seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from srdcr_lab.models.base import ChatModel
from srdcr_lab.protocols.choices import Choices, DebateDesign
from srdcr_lab.records import Exemplar, Item, Role

if TYPE_CHECKING:
    from srdcr_lab.data import ItemSet


@dataclass(frozen=True)
class Cast:
    """The model that answers, and those that play the roles (often the same one)."""

    answerer: ChatModel
    defender: ChatModel
    critic: ChatModel
    judge: ChatModel

    def player(self, role: Role) -> ChatModel:
        """Who plays a role: proponents defend, the devil's advocate attacks, an aggregator judges, agents answer."""
        match role:
            case Role.DEFENDER | Role.PROPONENT:
                return self.defender
            case Role.CRITIC | Role.ADVOCATE:
                return self.critic
            case Role.JUDGE | Role.AGGREGATOR:
                return self.judge
            case Role.AGENT:
                return self.answerer

    @classmethod
    def of_one(cls, model: ChatModel) -> Cast:
        return cls(model, model, model, model)


@dataclass(frozen=True)
class Setup:
    """`players` are the models that designs name for their roles, by specification."""

    cast: Cast
    choices: Choices
    items: ItemSet
    seed: int = 0
    players: Mapping[str, ChatModel] = field(default_factory=dict)

    def under(self, design: DebateDesign) -> Setup:
        """The same setup with one design of its grid, and who plays the roles in it."""
        named = {
            role: self.players[spec]
            for role, spec in (("defender", design.defender), ("critic", design.critic), ("judge", design.judge))
            if spec is not None
        }
        return replace(self, choices=self.choices.under(design), cast=replace(self.cast, **named))

    def fixed_exemplars(self, item: Item) -> tuple[Exemplar, ...]:
        """The same exemplars for every question of a domain: for the confidence prompt [2.3]."""
        return self.items.pool(item)[: self.choices.exemplars]

    def random_exemplars(self, item: Item) -> tuple[Exemplar, ...]:
        """Seeded random in-domain exemplars, the same for every form of a question [appendix B]."""
        pool = self.items.pool(item)
        rng = random.Random(f"{self.seed}|exemplars|{item.question_id}")
        return tuple(rng.sample(pool, min(self.choices.exemplars, len(pool))))


# -- what a method returns for one item


# -- what a method is: a coroutine from an item to an outcome, and what it needs
