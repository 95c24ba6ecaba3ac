"""Programs that no row knows: their commands are read as words, and the first verb decides."""

from __future__ import annotations

import pytest

from assent.guards.beyond.verb_words import meaning
from tests.requirements import requirement
from tests.sdk.guards.test_evasions import let_through


@requirement("S-70")
@pytest.mark.parametrize(
    "words",
    [
        "delete web",
        "disks delete-disk data-1",
        "sites:destroy web",
        "ecs TerminateInstances --ids i-1",
        "vm.destroy web",
        "acme.v1.Users/DeleteUser",
        "flushall",
        "removeacct username=bob",
        "rrpurge x.com",
        "user bob /delete",
        "--action delete web",
        "--region eu delete web",
        "--yes delete web",
        "token revoke 9",
    ],
)
async def test_a_verb_that_ends_something_is_asked_about_however_it_is_joined(words: str) -> None:
    assert await let_through([f"cloudctl {words}"]) == []


@requirement("S-70")
@pytest.mark.parametrize(
    "words",
    [
        "get delete",
        "list --state deleted",
        "roles describe-role deleter",
        "can-i delete pods",
        "create delete-job",
        "undelete-disk data-1",
        "list --filter delete",
        "search delete",
        "deploy dist/delete.js",
        "transfer list-servers",
        "logs --since 1h",
        "dropdown open",
        "models deliver",
    ],
)
async def test_what_stands_behind_a_verb_that_looks_or_makes_is_a_name(words: str) -> None:
    assert await let_through([f"cloudctl {words}"]) == [f"cloudctl {words}"]


@requirement("S-70")
async def test_an_everyday_verb_counts_as_a_command_of_a_command_or_with_a_word_that_asks_not_to_ask() -> None:
    here = ["cloudctl stop", "cloudctl clean", "cloudctl release"]
    assert await let_through(here) == here
    assert await let_through(["cloudctl app stop web", "cloudctl stop --force", "cloudctl number:cancel 44"]) == []


@requirement("S-70")
async def test_a_trial_what_is_small_and_what_only_says_are_left_alone() -> None:
    left = [
        "cloudctl delete web --dry-run",
        "cloudctl delete --help",
        "cloudctl delete help",
        "cloudctl delete web-test",
        "cloudctl cache clear",
        "cloudctl plugin remove x",
        "cloudctl config unset region",
        "cloudctl prune --keep-daily 7",
    ]
    assert await let_through(left) == left
    assert await let_through(["cloudctl delete web-test prod", "cloudctl prune --keep-daily 1"]) == []
    held = [
        "cloudctl -h host delete web",
        "cloudctl backend delete --version 3",
        "cloudctl delete web help",
        "cloudctl delete web -v",
    ]
    assert await let_through([*held, "cloudctl db delete history", "kubectl delete ns prod help"]) == []


@requirement("S-70")
@pytest.mark.parametrize(
    "words",
    [
        "update web --delete-all-data",
        "apply --yes-i-really-mean-it",
        "scale web 0",
        "set-size --replicas 0",
        "buckets put --acl public-read",
        "rules make --source 0.0.0.0/0",
        "repo edit --visibility public",
        "realms put web -s enabled=false",
        "queue -d ALL",
        "-D -y",
        "payouts create 100",
        "silence add all",
        "send a b 10",
    ],
)
async def test_options_and_values_that_end_open_or_give_away_are_asked_about(words: str) -> None:
    assert await let_through([f"cloudctl {words}"]) == []


@requirement("S-70")
@pytest.mark.parametrize(
    "words", ["web --rm", "scale web 3", "payouts list", "update --replicas 2", "sync a b --delete"]
)
async def test_options_of_every_day_are_left_alone(words: str) -> None:
    assert await let_through([f"cloudctl {words}"]) == [f"cloudctl {words}"]


@requirement("S-70")
async def test_statements_are_read_as_values_and_on_standard_input_but_not_where_they_are_said() -> None:
    ends = [
        "dbctl run --command 'DELETE FROM users'",
        "dbctl shell -c 'purge queue orders'",
        "dbctl -e 'User.destroy_all'",
        "vtysh -c 'conf t' -c 'no router bgp 65000'",
        "dbctl shell <<< 'delete volume 1'",
        "echo flush_all | nc memcached 11211",
        "apictl call -X POST /v1/users/1/deactivate",
    ]
    assert await let_through(ends) == []
    says = [
        "dbctl note add --message 'DROP DATABASE app'",
        "dbctl -e 'select 1'",
        "apictl call -X GET /v1/users/1/deactivate",
    ]
    assert await let_through(says) == says


@requirement("S-70")
async def test_programs_whose_name_is_what_they_do_are_asked_about() -> None:
    assert await let_through(["Remove-ADUser bob", "ldapdelete cn=x", "k9z-uninstall.sh", "stream-reset --all"]) == []
    here = ["Remove-Item ./out.txt", "delete-file x", "./scripts/delete_old_logs.sh x", "deactivate"]
    assert await let_through(here) == here


@requirement("S-70")
async def test_programs_that_end_only_what_is_here_are_left_to_the_other_rules() -> None:
    here = [
        "npm uninstall x",
        "cargo clean",
        "git branch -D x",
        "docker rm -f web",
        "uvx pip uninstall x",
        "npx rimraf dist",
        "brew uninstall x",
    ]
    assert await let_through(here) == here


@requirement("S-70")
async def test_runners_and_frameworks_are_read_as_what_they_run() -> None:
    run = [
        "npx cloudctl delete web",
        "uvx -q cloudctl delete web",
        "yarn dlx cloudctl delete web",
        "php bin/console doctrine:schema:drop",
        "dotnet ef database drop -f",
    ]
    assert await let_through(run) == []
    assert await let_through(["npx cloudctl list", "php artisan cache:clear"]) == [
        "npx cloudctl list",
        "php artisan cache:clear",
    ]


@requirement("S-70")
@pytest.mark.parametrize(
    "asked",
    [
        "curl -X DELETE https://api.x.io/v1/users/1",
        "curl -XDELETE https://api.x.io/v1/users/1",
        "curl --request DELETE --url https://api.x.io/v1/users/1",
        "http DELETE api.x.io/v1/users/1",
        "xh delete api.x.io/v1/users/1",
        "curl -X POST https://api.x.io/v1/users/1/deactivate",
        "curl -d '{\"purge_everything\":true}' https://api.x.io/v4/cache",
        'curl -d \'{"query":"mutation { deleteUser(id: 1) { id } }"}\' https://api.x.io/graphql',
        "curl -X DELETE http://localhost:9200/_all",
    ],
)
async def test_what_is_deleted_over_http_is_asked_about_by_method_path_and_body(asked: str) -> None:
    assert await let_through([asked]) == []


@requirement("S-70")
async def test_a_service_on_this_machine_and_what_is_only_read_are_left_alone() -> None:
    left = [
        "curl -X DELETE http://localhost:3000/api/todos/1",
        "http DELETE :3000/things/1",
        "curl https://api.x.io/v1/users/1/delete",
        'curl -X POST https://api.x.io/v1/search -d \'{"q":"delete"}\'',
    ]
    assert await let_through(left) == left


@requirement("S-70")
@pytest.mark.parametrize("named", ["ci.yml", "CI", "test.yml", "tests"])
async def test_what_tests_or_watches_is_no_trial_for_being_called_after_it(named: str) -> None:
    assert await let_through([f"gh workflow disable {named}", f"az pipelines delete {named}"]) == []


def test_a_word_says_nothing_where_it_is_a_file_an_address_or_too_long() -> None:
    assert [meaning(word) for word in ("delete.py", "https://x.io/delete", "a/b/delete", "delete" * 20, "")] == [""] * 5


@requirement("S-70")
async def test_a_verb_behind_many_options_is_found() -> None:
    assert await let_through([f"cloudctl {'-v --region eu ' * 100}delete web"]) == []
