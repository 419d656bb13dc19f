"""No secret survives `redact`; ordinary text does."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srdcr_lab.models.base import address, redact
from srdcr_lab.records import BadInput
from srdcr_lab.study.bundle import check_no_traces

SECRET = st.text(string.ascii_letters + string.digits, min_size=12, max_size=40)
AROUND = st.text(string.ascii_letters + " .,:;'\"{}()\n", max_size=10)  # too short to hold a secret by chance
FORMS = (
    "sk-{}", "Incorrect API key provided: sk-proj-{}.", "Authorization: Bearer {}", "{{'x-api-key': '{}'}}",
    '"api_key": "{}"', "https://user:{}@host.example/v1", "https://{}@host.example",
    "http://127.0.0.1:80/v1?key={}", "bearer {}", "access_token={}",
)  # fmt: skip


@given(secret=SECRET, form=st.sampled_from(FORMS), before=AROUND, after=AROUND)
def test_no_secret_survives(secret: str, form: str, before: str, after: str) -> None:
    assert secret not in redact(f"{before} {form.format(secret)} {after}")


@given(secret=SECRET, before=AROUND, after=AROUND)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_key_of_environment_survives(monkeypatch: pytest.MonkeyPatch, secret: str, before: str, after: str) -> None:
    monkeypatch.setenv("SOME_API_KEY", secret)
    assert secret not in redact(before + secret + after)


@given(st.text(max_size=200))
def test_redacting_twice_changes_nothing(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("text", [
    "Rate limit reached for gpt-4o: 500 requests per minute.",
    "The basic reason is a time-out; the key point was reached at 18:30.",
    "Unsupported value: 'temperature' does not support 0 with this model.",
    "http://127.0.0.1:8000/v1/chat/completions",
    "task-specific risk-free desk-1234",
])  # fmt: skip
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert redact(text) == text


def test_a_url_keeps_its_host_and_path() -> None:
    assert (
        redact("POST https://me:pw@host.example:444/v1/chat?key=k#x failed")
        == "POST https://host.example:444/v1/chat failed"
    )


@pytest.mark.parametrize("key", [
    "sk-proj-" + "a1" * 20, "sk-ant-api03-" + "a1" * 20, "ghp_" + "a1" * 18, "gho_" + "a1" * 18,
    "github_pat_11AB" + "a1" * 30, "AKIAIOSFODNN7EXAMPLE", "AIza" + "Sy1" * 12, "hf_" + "aB3" * 11,
    "xoxb-1234567890-" + "a1" * 10, "-----BEGIN RSA PRIVATE KEY-----",
])  # fmt: skip
def test_a_known_kind_of_key_is_hidden_and_not_shared(key: str) -> None:
    """One list of what keys look like, for what a server says and for what leaves this machine."""
    assert redact(f"the key {key} is wrong").startswith("the key [hidden]")
    with pytest.raises(BadInput, match="looks like a key"):
        check_no_traces("items/my.csv", f"question\nWhat is {key}?\n".encode())


@pytest.mark.parametrize("text", ["hf_hub_download_of_files", "sk-learn-or-something", "sk-ab***yz", "sk-" * 100_000])
def test_what_merely_begins_like_a_key_is_shared(text: str) -> None:
    check_no_traces("items/my.csv", text.encode())


@pytest.mark.parametrize(("url", "expected"), [
    ("https://me:pw@host.example/v1", "host.example:443"), ("http://127.0.0.1:8099/v1", "127.0.0.1:8099"),
    ("http://localhost", "localhost:80"),
])  # fmt: skip
def test_address_is_host_and_port(url: str, expected: str) -> None:
    assert address(url) == expected
