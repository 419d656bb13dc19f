"""One step's gradient: two processes give what one gives, and the helper ends with its pipe."""

from __future__ import annotations

import random
from collections.abc import Iterator
from multiprocessing import active_children
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests import training_code

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PAD, VOCABULARY, TOTAL = 0, 60, 25.0
PATIENCE = 600.0  # seconds; it takes none
Rows = list[tuple[list[int], list[float]]]


@pytest.fixture(scope="module")
def gradients() -> ModuleType:
    return training_code.module("gradients")


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Twenty rows of 8 to 70 tokens; the first third of each is not taught."""
    r = random.Random(0)
    made = []
    for _ in range(20):
        length = r.randint(8, 70)
        weights = [0.0 if place < length // 3 else r.choice((0.0, 0.3, 1.0)) for place in range(length)]
        made.append(([r.randrange(1, VOCABULARY) for _ in range(length)], weights))
    return made


@pytest.fixture(scope="module")
def model(gradients: ModuleType) -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    tiny = transformers.LlamaForCausalLM(config)
    tiny.set_attn_implementation(training_code.module("attention").NAME)
    return tiny


@pytest.fixture(scope="module")
def shared(gradients: ModuleType, model: Any) -> Iterator[Any]:
    """The gradient's work shared with one helper, which finds the training code as the trainer's helpers do."""
    before = active_children()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(training_code.TRAINING))
        two = gradients.Gradients(model, PAD, processes=2, threads=1, bf16=False)
    (helper,) = (child for child in active_children() if child not in before)
    yield SimpleNamespace(gradients=two, helper=helper)
    two.pipes[0].close()
    helper.join(PATIENCE)


def _gradient(model: Any) -> Any:
    """All gradients in one vector, taken away from the model."""
    found = torch.cat([parameter.grad.reshape(-1).clone() for parameter in model.parameters()])
    model.zero_grad(set_to_none=True)
    return found


def test_a_gradient_is_that_of_the_weighted_mean_loss(gradients: ModuleType, model: Any, rows: Rows) -> None:
    loss = gradients.add_gradients(model, rows, PAD, TOTAL, bf16=False)
    found = _gradient(model)
    by_hand = torch.zeros(())
    for ids, weights in rows:  # row by row, without padding
        logits = model(torch.tensor([ids])).logits[0, :-1]
        chances = torch.log_softmax(logits, -1)[range(len(ids) - 1), ids[1:]]
        by_hand = by_hand - (chances * torch.tensor(weights[1:])).sum() / TOTAL
    by_hand.backward()
    assert loss == pytest.approx(float(by_hand.detach()), rel=1e-5)
    torch.testing.assert_close(found, _gradient(model), rtol=1e-4, atol=1e-6)


def test_two_processes_give_the_gradient_and_the_loss_of_one(
    gradients: ModuleType, model: Any, shared: Any, rows: Rows
) -> None:
    alone = gradients.add_gradients(model, rows, PAD, TOTAL, bf16=False)
    expected = _gradient(model)
    for _ in range(2):  # the helper starts each step from nothing
        assert shared.gradients.add(rows, TOTAL) == pytest.approx(alone, rel=1e-5)
        torch.testing.assert_close(_gradient(model), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_rows_are_shared_out_whole_and_about_evenly(gradients: ModuleType, rows: Rows, parts: int) -> None:
    shares = gradients.shared_out(rows, parts)
    assert sorted(row for share in shares for row in share) == sorted(rows)
    tokens = [sum(len(ids) for ids, _ in share) for share in shares]
    assert max(tokens) - min(tokens) <= 2 * 70


def test_a_helper_ends_when_its_pipe_closes(model: Any, shared: Any, rows: Rows) -> None:
    shared.gradients.add(rows, TOTAL)  # it has started
    model.zero_grad(set_to_none=True)
    shared.gradients.pipes[0].close()
    shared.helper.join(PATIENCE)
    assert shared.helper.exitcode == 0
