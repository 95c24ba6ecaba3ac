"""Data and machines that others keep: people are asked before they go, but for what is for trying."""

from __future__ import annotations

import pytest

from tests.requirements import requirement
from tests.sdk.guards.test_evasions import let_through


@requirement("S-70")
async def test_one_name_for_trying_does_not_excuse_the_others() -> None:
    both = ["kubectl delete ns test-1 prod", "kubectl delete ns prod test-1", "dropdb app_test -h prod"]
    assert await let_through(both) == []
    trying = ["kubectl delete ns test-1", "kubectl delete ns test-1 tmp-2", "dropdb app_test"]
    assert await let_through(trying) == trying


@requirement("S-70")
async def test_a_path_for_trying_does_not_excuse_where_it_goes() -> None:
    assert await let_through(["rclone sync /tmp/empty remote:prod", "virsh undefine /tmp/x"]) == []


@requirement("S-70")
async def test_the_frameworks_own_word_for_a_trial_excuses() -> None:
    assert await let_through(["RAILS_ENV=test rails db:reset"]) == ["RAILS_ENV=test rails db:reset"]
    assert await let_through(["RAILS_ENV=production rails db:reset", "rails db:reset"]) == []


@requirement("S-70")
@pytest.mark.parametrize(
    "statement", ["drop database prod", "TRUNCATE orders", "delete from users;", "update users set admin = true"]
)
async def test_statements_that_end_data_are_asked_about_however_they_are_given(statement: str) -> None:
    ways = [f"psql -c '{statement}'", f"psql <<< '{statement}'", f"docker exec db mysql -e '{statement}'"]
    assert await let_through([*ways, f"psql <<'EOF'\nselect 1;\n{statement}\nEOF"]) == []


@requirement("S-70")
async def test_statements_that_choose_or_make_anew_are_left_alone() -> None:
    statements = ["delete from users where id = 5", "drop table users; create table users (id int)"]
    ways = [f"psql -c '{statement}'" for statement in statements]
    assert await let_through(ways) == ways


@requirement("S-70")
async def test_help_on_what_ends_data_is_left_alone() -> None:
    assert await let_through(["terraform destroy --help"]) == ["terraform destroy --help"]
