"""What a command in the local sandbox cannot see, reach or write, with the real bubblewrap."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from assent.hooks.contract.sandbox import SandboxFault
from assent.sandbox.covers import SECRETS, covers
from assent.sandbox.local import LocalSandbox
from tests.sdk.sandbox.jobs import running, until_running
from tests.sdk.sandbox.local_runs import needs_bubblewrap, run

pytestmark = [pytest.mark.process, needs_bubblewrap]


# --- what it cannot reach ---------------------------------------------------------------------------------------------


async def test_a_server_on_this_machine_cannot_be_reached() -> None:
    met: list[str] = []

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.append("somebody")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{server.sockets[0].getsockname()[1]} && echo connected"
        outside = await asyncio.create_subprocess_exec("bash", "-c", connect, stdout=subprocess.PIPE)
        assert (await outside.communicate())[0] == b"connected\n"  # so the test could tell
        report = await run(connect)
    assert (report.exit_code, report.stdout, met) == (1, "", ["somebody"])
    assert "refused" in report.stderr or "unreachable" in report.stderr


async def test_there_is_no_interface_but_its_own_loopback() -> None:
    report = await run("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")
    assert report.stdout == "lo\n"


@pytest.mark.parametrize("path", ["/new", "/etc/new", "/usr/new", "/dev/new", "/proc/new"])
async def test_the_root_cannot_be_written(path: str) -> None:
    report = await run(f"touch {path} || mkdir {path}")
    assert report.exit_code == 1
    assert not Path(path).exists()


async def test_no_setting_of_the_kernel_can_be_opened_for_writing() -> None:
    report = await run(
        "find /proc -path '/proc/[0-9]*' -prune -o -type f -print | python3 -c '\n"
        "import os, sys\n"
        "looked = 0\n"
        "for line in sys.stdin:\n"
        "    looked += 1\n"
        "    try:\n"
        "        os.close(os.open(line[:-1], os.O_WRONLY | os.O_NONBLOCK))\n"  # opened only: nothing is written
        "        print(line[:-1])\n"
        "    except OSError:\n"
        "        pass\n"
        "print(looked > 100)'"
    )
    assert report.stdout == "True\n"


async def test_tmp_is_its_own_and_empty_and_gone_afterwards(tmp_path: Path) -> None:
    report = await run("ls -A /tmp; echo mine > /tmp/left && cat /tmp/left")
    assert report.stdout == "mine\n"
    assert not Path("/tmp/left").exists()
    again = await run("ls -A /tmp")
    assert again.stdout == ""


async def test_the_processes_of_this_machine_are_not_visible() -> None:
    report = await run("ls -d /proc/[0-9]* | wc -l; kill -0 " + str(os.getpid()))
    assert int(report.stdout) < 8
    assert report.exit_code == 1


async def test_the_host_name_is_its_own() -> None:
    assert (await run("uname -n")).stdout == "sandbox\n"


async def test_the_agent_s_environment_is_not_visible_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_KEY", "canary-91f0")
    report = await run("env; cat /proc/*/environ | tr '\\0' '\\n'", env={"CITY": "Köln 科隆"})
    assert "canary-91f0" not in report.stdout
    assert "CITY=Köln 科隆" in report.stdout


async def test_what_the_job_sets_is_not_in_a_command_line_of_this_machine() -> None:
    task = asyncio.create_task(run("sleep 41.9281", env={"TOKEN": "canary-5ad2"}))
    assert await until_running("sleep 41.9281")
    assert not await asyncio.to_thread(running, "canary-5ad2")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_there_are_no_capabilities_and_no_way_to_any() -> None:
    report = await run("grep -c '^Cap.*:.0000000000000000$' /proc/self/status; unshare --user --map-root-user id")
    assert report.stdout == "5\n"
    assert report.exit_code != 0


@pytest.mark.parametrize("path", ["/root", "/home", "/run", "/var", "/sys", "/etc/shadow", "/etc/ssl/private", "/boot"])
async def test_private_places_are_not_there(path: str) -> None:
    report = await run(f"ls -d {path}")
    assert (report.exit_code, report.stdout) == (2, "")


async def test_no_file_of_this_process_is_inherited(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        report = await run("ls /proc/self/fd | wc -l")
    assert report.stdout == "4\n"  # the three streams, and that of `ls` itself


# --- the working directory --------------------------------------------------------------------------------------------


async def test_the_working_directory_is_shown_but_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("read me\n")
    report = await run("pwd; cat notes; echo more > notes", cwd=tmp_path)
    assert report.stdout == f"{tmp_path}\nread me\n"
    assert report.exit_code == 1
    assert (tmp_path / "notes").read_text() == "read me\n"


async def test_the_working_directory_is_writable_if_the_option_says_so(tmp_path: Path) -> None:
    report = await run("echo written > new", cwd=tmp_path, writable=True)
    assert report.exit_code == 0
    assert (tmp_path / "new").read_text() == "written\n"


async def test_what_lies_beside_the_working_directory_is_not_there(tmp_path: Path) -> None:
    work, beside = tmp_path / "work", tmp_path / "beside"
    work.mkdir()
    beside.write_text("private")
    (work / "link").symlink_to(beside)
    report = await run("cat ../beside link; ls ..", cwd=work)
    assert report.stdout == "work\n"


async def test_secrets_in_the_working_directory_are_covered(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519").write_text("canary")
    (tmp_path / ".env").write_text("canary")
    (tmp_path / "plain").write_text("plain")
    report = await run("cat .ssh/* .env plain; rm -rf .ssh .env; echo x > .env", cwd=tmp_path, writable=True)
    assert report.stdout == "plain"
    assert (tmp_path / ".env").read_text() == (tmp_path / ".ssh" / "id_ed25519").read_text() == "canary"


@pytest.mark.parametrize(
    "path",
    [
        "app/.env",
        ".env.production",
        "deep/er/and/deep/er/.ENV",
        "home/.ssh/id_rsa",
        "keys/server.pem",
        "keys/ID_RSA",
        "home/.config/gcloud/token",
        "ops/service-account-prod.json",
    ],
)
async def test_secrets_are_covered_at_whatever_depth_they_lie(tmp_path: Path, path: str) -> None:
    secret = tmp_path / path
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("canary")
    report = await run(f"cat '{path}'; find . -type f -exec cat {{}} +; mv '{path}' /tmp/x; cat /tmp/x", cwd=tmp_path)
    assert "canary" not in report.stdout
    assert report.exit_code != 0
    again = await run(f"rm -rf '{path}'; mv '{path}' moved; cat moved", cwd=tmp_path, writable=True)
    assert "canary" not in again.stdout
    assert secret.read_text() == "canary"


@pytest.mark.parametrize("path", [".env.example", "keys/id_rsa.pub", "gcloud/notes", "environment", "pem"])
async def test_what_only_resembles_a_secret_s_name_is_shown(tmp_path: Path, path: str) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("plain")
    assert (await run(f"cat {path}", cwd=tmp_path)).stdout == "plain"


async def test_what_a_link_of_a_secret_s_name_points_to_is_covered(tmp_path: Path) -> None:
    (tmp_path / "settings").write_text("canary")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".env").symlink_to("../settings")
    report = await run("cat app/.env settings", cwd=tmp_path)
    assert (report.stdout, report.exit_code) == ("", 1)


async def test_links_of_a_secret_s_name_that_lead_nowhere_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".env").symlink_to("gone")
    (tmp_path / "id_rsa").symlink_to("id_rsa")
    (tmp_path / "server.pem").symlink_to("/etc/hostname")
    assert (await run("echo there", cwd=tmp_path)).stdout == "there\n"


async def test_a_working_directory_within_a_secret_is_not_opened(tmp_path: Path) -> None:
    work = tmp_path / ".ssh" / "keys"
    work.mkdir(parents=True)
    with pytest.raises(SandboxFault, match=r"'\.ssh' is hidden from it") as raised:
        await run("ls", cwd=work)
    assert raised.value.started is False


def test_a_directory_too_large_to_look_through_is_refused(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "file").touch()
    assert list(covers([str(tmp_path)], SECRETS, most=12)) == []
    with pytest.raises(SandboxFault, match="more than 11 files, too many to look through for secrets") as raised:
        list(covers([str(tmp_path)], SECRETS, most=11))
    assert raised.value.started is False


async def test_more_directories_can_be_shown_and_more_names_covered(tmp_path: Path) -> None:
    (tmp_path / "shown").write_text("shown")
    (tmp_path / "covered").write_text("covered")
    local = LocalSandbox(readable=[str(tmp_path)], hidden=["covered"])
    report = await run(f"cat {tmp_path}/shown {tmp_path}/covered; touch {tmp_path}/new", local=local)
    assert (report.stdout, report.exit_code) == ("shown", 1)


@pytest.mark.parametrize("path", ["/", "/etc", "/usr", "/usr/bin", "/home", "/var", "/proc", "/run"])
async def test_the_machine_s_own_directories_are_no_working_directory(path: str) -> None:
    with pytest.raises(SandboxFault, match="work in a project's own directory"):
        await run("ls", cwd=path)


async def test_a_home_directory_is_no_working_directory_but_one_within_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    (tmp_path / "diary").write_text("private")
    for cwd in (tmp_path, tmp_path.parent):
        with pytest.raises(SandboxFault, match="home directory"):
            await run("ls", cwd=cwd)
    report = await run("ls -A ..", cwd=tmp_path / "project")
    assert report.stdout == "project\n"


@pytest.mark.parametrize("cwd", ["relative/path", "/no/such/directory"])
async def test_a_working_directory_that_is_none_is_a_fault(cwd: str) -> None:
    with pytest.raises(SandboxFault, match="not a directory of this machine"):
        await run("ls", cwd=cwd)


async def test_tmp_as_the_working_directory_is_the_sandbox_s_own() -> None:
    report = await run("pwd; ls -A", cwd="/tmp")
    assert report.stdout == "/tmp\n"
    with pytest.raises(SandboxFault, match="'writable' needs a working directory"):
        await run("ls", cwd="/tmp", writable=True)
