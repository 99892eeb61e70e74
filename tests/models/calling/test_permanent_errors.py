"""What ends a run for good names the registry entry and what to look at, whichever role met it."""

from __future__ import annotations

from typing import Any

import pytest

from lic_pipeline.models.calling.permanent_errors import REFUSALS_IN_A_ROW, PermanentErrors
from lic_pipeline.models.errors import AccessError, CallError, PermanentError, TransientError
from lic_pipeline.models.registry import ModelEntry

KEYED = {"id": "openai/gpt-x"}
OWN = {"id": "local/gpt-x", "base_url": "http://user:secret@127.0.0.1:9/v1"}


def refusals(**fields: Any) -> PermanentErrors:
    return PermanentErrors(ModelEntry.model_validate({"alias": "mine", **fields}))


@pytest.mark.parametrize(
    ("fields", "status", "advice"),
    [
        (KEYED, 401, "; check that the key in OPENAI_API_KEY is right"),
        (KEYED, 402, "; check that the key in OPENAI_API_KEY belongs to an account with credit"),
        (KEYED, 403, "; check that the key in OPENAI_API_KEY may use openai/gpt-x"),
        (KEYED, 404, "; check its id openai/gpt-x, and that the key in OPENAI_API_KEY may use it"),
        (KEYED, 429, "; check that the key in OPENAI_API_KEY belongs to an account with credit"),
        (KEYED, None, ""),
        ({**OWN, "key_variable": "MY_KEY"}, 401, "; check that the key in MY_KEY is right"),
        (OWN, 404, "; check its id local/gpt-x and its base_url"),
        (OWN, 401, "; no key was sent: if it needs one, let key_variable in its registry entry name the variable"),
        ({"id": "python:a.b"}, 401, "; check the key python:a.b uses itself"),
        ({"id": "bedrock/x"}, 403, "; check the credentials of bedrock in the environment"),
    ],
)
def test_a_refusal_names_entry_and_key(fields: dict[str, Any], status: int | None, advice: str) -> None:
    met = refusals(**fields)
    error = met.met(AccessError("they said no", status=status))
    assert (str(error), error.status) == (f"mine: they said no{advice}", status)
    with pytest.raises(AccessError) as again:
        met.require_none()
    assert str(again.value) == str(error)


def test_the_first_refusal_is_the_one_that_is_told() -> None:
    met = refusals(**KEYED)
    first = met.met(AccessError("one", status=401))
    met.met(AccessError("two", status=403))
    assert met.ending is first


@pytest.mark.parametrize("answered", [False, True])
def test_bad_requests_alone_end_a_run_only_where_nothing_was_ever_answered(answered: bool) -> None:
    met = refusals(**KEYED)
    if answered:
        met.answered()
    told: list[CallError] = [met.met(PermanentError("bad", status=400)) for _ in range(REFUSALS_IN_A_ROW)]
    assert all(type(error) is PermanentError for error in told[:-1])
    assert isinstance(told[-1], AccessError) != answered
    if not answered:
        assert str(told[-1]) == "mine refused the first 8 requests: bad; correct its registry entry"


def test_what_may_pass_is_passed_on_as_it_is() -> None:
    met = refusals(**KEYED)
    error = TransientError("later", status=503)
    assert met.met(error) is error
    met.require_none()
