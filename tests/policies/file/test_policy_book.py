"""Files on disk: several orgs, renewal as a whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from app.domain.errors import NotFoundError
from app.policies.file.policy_book import PolicyBook, config_check
from app.policies.marks.faults import PolicyFaultsError
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

ACME = "org: acme\ndefault: deny\n"
BETA = "org: beta\ndefault: allow\n"


def book(path: Path) -> PolicyBook:
    return PolicyBook(path, environ={}, channel_types={})


def test_a_directory_is_several_orgs(tmp_path: Path) -> None:
    (tmp_path / "acme.yaml").write_text(ACME)
    (tmp_path / "beta.yml").write_text(BETA)
    (tmp_path / "notes.txt").write_text("not ours")
    (tmp_path / ".acme.yaml.swp.yaml").write_text("an editor's")
    policies = book(tmp_path)
    assert policies.orgs() == ("acme", "beta")
    assert policies.current("beta").policy.default == "allow"
    with pytest.raises(NotFoundError):
        policies.current("gamma")


@requirement("S-57")
def test_faults_of_all_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ACME)
    (tmp_path / "b.yaml").write_text(ACME)
    (tmp_path / "c.yaml").write_text("org: gamma\ndefault: deny\nruls: []\n")
    found = [str(fault) for fault in config_check(tmp_path, environ={}, channel_types={})]
    assert found == [
        f'{tmp_path}/b.yaml:1: the org "acme" has a file already: {tmp_path}/a.yaml',
        f'{tmp_path}/c.yaml:3: ruls: unknown key "ruls"; did you mean "rules"?',
    ]
    with pytest.raises(PolicyFaultsError):
        book(tmp_path)


@requirement("S-57")
def test_an_empty_directory_is_a_fault(tmp_path: Path) -> None:
    assert [fault.message for fault in config_check(tmp_path, environ={}, channel_types={})] == ["has no .yaml file"]


def test_a_good_file_has_no_faults(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ACME)
    assert config_check(tmp_path / "a.yaml", environ={}, channel_types={}) == []


def test_a_changed_file_comes_into_force_when_reloaded(tmp_path: Path) -> None:
    path = tmp_path / "assent.yaml"
    path.write_text(ACME)
    policies = book(path)
    old = policies.current("acme").policy
    assert not policies.changed()
    path.write_text(ACME.replace("deny", "allow"))
    assert policies.changed()
    assert policies.current("acme").policy is old
    assert policies.reload() == ()
    assert policies.current("acme").policy.default == "allow"
    assert policies.current("acme").policy.version != old.version
    assert not policies.changed()


def test_a_faulty_file_leaves_the_old_one_in_force_and_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "assent.yaml"
    path.write_text(ACME)
    policies = book(path)
    path.write_text(ACME.replace("deny", "denny"))
    assert [fault.line for fault in policies.reload()] == [2]
    assert policies.current("acme").policy.default == "deny"
    assert not policies.changed()  # nothing new to say until somebody edits it again
    path.write_text(ACME.replace("deny", "allow"))
    assert policies.changed()
    assert policies.reload() == ()


def test_one_faulty_org_keeps_every_org_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ACME)
    (tmp_path / "b.yaml").write_text(BETA)
    policies = book(tmp_path)
    (tmp_path / "a.yaml").write_text("org: acme\n")
    (tmp_path / "b.yaml").write_text(BETA.replace("allow", "deny"))
    assert len(policies.reload()) == 1
    assert policies.current("beta").policy.default == "allow"


def test_an_edit_within_the_same_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "assent.yaml"
    path.write_text(ACME)
    policies = book(path)
    before = path.stat()
    path.write_text(ACME.replace("deny", "ask "))  # the same length
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert policies.changed()


def test_a_file_that_vanished_is_a_fault_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "assent.yaml"
    path.write_text(ACME)
    policies = book(path)
    path.unlink()
    assert policies.changed()
    [fault] = policies.reload()
    gone = "cannot be read: No such file or directory; put it back: what it said last stays in force"
    assert str(fault) == f"{path}:1: {gone}"
    assert policies.refused == (fault,)
    assert policies.current("acme").policy.org == "acme"
