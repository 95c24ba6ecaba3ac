"""Whatever goes wrong, the hook never lets a tool run: each fault, on a real process, ends in a deny or exit code 2."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.sdk.hook_process import HookLine, close, event, finish, run_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway
    from tests.sdk.stub_faults import Fault

SHORT = ("--patience", "0.4", "--deadline", "3")
FOREVER: list[Fault] = [
    "500",
    "502",
    "503",
    "429",
    "reset",
    "hang",
    "nonsense",
    "empty",
    "plain",
    "list",
    "redirect",
    "cut",
    "401",
    "maybe",
]
pytestmark = [pytest.mark.process, requirement("S-08", "F-32")]


@pytest.fixture
def raw_server() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """A bare listening socket that treats each connection as the test says."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopping = threading.Event()
    threads: list[threading.Thread] = []

    def serve(treat: Callable[[socket.socket], None]) -> str:
        def accept() -> None:
            while not stopping.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        treat(connection)
                    except OSError:
                        continue  # the hook hung up

        threads.append(threading.Thread(target=accept))
        threads[-1].start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    stopping.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for thread in threads:
        thread.join(30)


@pytest.mark.parametrize("fault", FOREVER)
@pytest.mark.sampled(4)
def test_a_check_that_keeps_failing_is_a_no(gateway: StubGateway, hook: HookLine, fault: Fault) -> None:
    gateway.rules["Bash"] = "allow"
    gateway.faults["check"].extend([fault] * 99)
    assert hook.run(event(), *SHORT).blocks()


@pytest.mark.parametrize("fault", FOREVER)
@pytest.mark.sampled(4)
def test_a_wait_that_keeps_failing_is_a_no_by_the_deadline(gateway: StubGateway, hook: HookLine, fault: Fault) -> None:
    gateway.faults["get"].extend([fault] * 99)
    assert hook.run(event(), "--deadline", "0.7").blocks()


@pytest.mark.parametrize("fault", [fault for fault in FOREVER if fault != "hang"])
@pytest.mark.sampled(4)
def test_a_claim_that_keeps_failing_is_a_no(gateway: StubGateway, hook: HookLine, fault: Fault) -> None:
    gateway.faults["claim"].extend([fault] * 99)
    process = hook.begin(event(), "--patience", "0.4")
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    assert finish(process).blocks()


@pytest.mark.parametrize("fault", ["doubled", "accepted"])
def test_an_answer_of_two_meanings_is_a_no(gateway: StubGateway, hook: HookLine, fault: Fault) -> None:
    gateway.faults["check"].extend([fault] * 99)
    said = hook.run(event(), *SHORT)
    assert said.decision == "deny"
    assert "an answer " in said.reason


def test_a_gateway_that_does_not_listen_is_a_no(hook: HookLine, gateway: StubGateway) -> None:
    gateway.stop()
    said = hook.run(event(), *SHORT)
    assert said.decision == "deny"
    assert "could not be reached, and no answer means no" in said.reason


def test_the_operator_reads_which_gateway_cannot_be_reached(hook: HookLine, gateway: StubGateway) -> None:
    gateway.stop()
    said = hook.run(event(), "--patience", "0.1")
    assert (said.code, said.decision) == (0, "deny")
    assert hook.url in said.err
    assert hook.url not in said.reason


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("wrong_scope", "this needs a key of scope agent; yours is auditor"),
        ("bad_arguments", "amount: must be of type integer"),
        ("unknown_tool", "no tool of this name"),
    ],
)
def test_what_the_gateway_says_of_a_refusal_is_passed_on(
    gateway: StubGateway, hook: HookLine, fault: Fault, words: str
) -> None:
    gateway.faults["check"].append(fault)
    said = hook.run(event())
    assert said.decision == "deny"
    assert words in said.reason
    assert ("correct the arguments" in said.reason) is (fault == "bad_arguments")
    assert ("This is final" in said.reason) is (fault != "bad_arguments")


def test_a_name_that_does_not_resolve_is_a_no(tmp_path: Path) -> None:
    assert HookLine(url="http://gateway.invalid:8765", folder=tmp_path).run(event(), *SHORT).blocks()


def test_a_certificate_that_proves_nothing_is_a_no_at_once(gateway: StubGateway, tmp_path: Path) -> None:
    assert HookLine(url=gateway.url.replace("http:", "https:"), folder=tmp_path).run(event(), *SHORT).blocks()


def test_an_answer_that_drips_is_a_no(
    raw_server: Callable[[Callable[[socket.socket], None]], str], tmp_path: Path
) -> None:
    def drip(connection: socket.socket) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n" + b'{"decision": "allow"} ' * 9:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)  # the drip itself: slower than the hook's patience

    assert HookLine(url=f"http://{raw_server(drip)}", folder=tmp_path).run(event(), *SHORT).blocks()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\r\n\r\n",
        b"ALLOW\r\n\r\n",
        b"HTTP/1.1 \r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b'{"decision": "allow"}',
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + b'{"decision": "allow"}',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n" + b'{"decision": "allow"}',
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
        b"HTTP/1.1 404 Not Found\r\n\r\n" + b'{"decision": "allow"}',
        b"X" * 200_000,
    ],
)
@pytest.mark.sampled(4)
def test_an_answer_that_is_no_http_or_no_json_is_a_no(
    raw_server: Callable[[Callable[[socket.socket], None]], str], tmp_path: Path, answer: bytes
) -> None:
    def reply(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    assert HookLine(url=f"http://{raw_server(reply)}", folder=tmp_path).run(event(), *SHORT).blocks()


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (
            b"302 Found\r\nLocation: https://login.example/in?next=%2Fv1\x07\r\nContent-Type: text/html; charset=utf-8",
            "status 302, text/html; it points to https://login.example/in, which is not followed: is the URL right?",
        ),
        (b"302 Found", "status 302, no type; it points to nowhere, which is not followed"),
        (b"401 Unauthorized\r\nContent-Type: text/html", "status 401, text/html. Does a proxy, or another program,"),
        (b"403 Forbidden\r\nContent-Type: text/html", "status 403, text/html. Does a proxy, or another program,"),
        (b"404 Not Found\r\nContent-Type: text/html", "status 404, text/html. Does a proxy, or another program,"),
    ],
)
def test_what_is_no_gateway_is_told_as_such_and_refuses_nobodys_key(
    raw_server: Callable[[Callable[[socket.socket], None]], str], tmp_path: Path, head: bytes, told: str
) -> None:
    def reply(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 " + head + b"\r\nContent-Length: 5\r\n\r\nLogin")

    said = HookLine(url=f"http://{raw_server(reply)}", folder=tmp_path).run(event(), *SHORT)
    assert said.blocks()
    assert f"what answers at the gateway's URL is no gateway of Assent: {told}" in said.reason
    assert "key" not in said.reason


def test_chunks_and_a_100_continue_are_understood(
    raw_server: Callable[[Callable[[socket.socket], None]], str], tmp_path: Path
) -> None:
    def reply(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b'b\r\n{"decision"\r\n')
        connection.sendall(b'9;x=1\r\n:"allow"}\r\n0\r\n\r\n')

    assert HookLine(url=f"http://{raw_server(reply)}", folder=tmp_path).run(event(), *SHORT).decision == "allow"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        event()[:-1],
        event().replace(b'"tool_name": "Bash"', b'"tool_name": ""'),
        event().replace(b'"tool_input": {', b'"tool_input": 1, "x": {'),
        event().replace(b'"command":', b'"command": "ls", "command":'),
        event().replace(b'"touch marker"', b"NaN"),
        event().replace(b'"touch marker"', b"1e999"),
        event(moment="pretooluse"),
        event(moment=""),
        event(session=5),  # pyright: ignore[reportArgumentType]
    ],
)
@pytest.mark.sampled(4)
def test_an_event_that_cannot_be_read_is_a_no(gateway: StubGateway, hook: HookLine, content: bytes) -> None:
    gateway.rules["Bash"] = "allow"
    said = hook.run(content)
    assert said.code == 2
    assert said.out == b""
    assert "Not approved" in said.err


def test_a_number_that_no_program_keeps_is_named(gateway: StubGateway, hook: HookLine) -> None:
    said = hook.run(event(arguments={"sums": [1, {"a": 7}]}).replace(b"7", b"1e400"))
    assert said.code == 2
    assert "'tool_input.sums.1.a' is 1e400, larger than any number" in said.err
    assert "call again with a smaller number, or with its digits as a text" in said.err
    assert gateway.seen == []


def test_large_and_foreign_arguments_are_judged_like_any_other(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "allow"
    arguments = {"command": "支付 €\u0000😀 " + "x" * 1_000_000}
    assert hook.run(event(arguments=arguments)).decision == "allow"
    assert gateway.seen[0][1]["tool_input"] == arguments


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_hook_that_is_interrupted_says_no(gateway: StubGateway, hook: HookLine, number: signal.Signals) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    process.send_signal(number)
    said = finish(process)
    assert said.code == 2
    assert said.out == b""
    assert gateway.only.state == "pending"


def test_a_hook_that_is_killed_says_nothing(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    process.kill()
    said = finish(process)
    assert said.code == -signal.SIGKILL  # for Claude Code a failure, and onFailure says block
    assert said.out == b""


def test_a_hook_interrupted_after_its_claim_gives_the_approval_back_as_failed(
    gateway: StubGateway, hook: HookLine
) -> None:
    gateway.faults["claim"].append("hang")
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    gateway.arrived("claim")
    process.send_signal(signal.SIGTERM)
    assert finish(process).code == 2
    gateway.arrived("outcome")


def test_an_allow_that_nobody_can_read_is_taken_back(gateway: StubGateway, hook: HookLine) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a disk without space
        process = hook.start(stdout=full.fileno())
        assert process.stdin is not None
        process.stdin.write(event())
        process.stdin.close()
        process.stdin = None
        gateway.arrived("get")
        gateway.decide("req_0001", "approved")
        said = finish(process)
    assert said.code == 2
    assert gateway.only.outcomes[0]["status"] == "failed"


def test_a_host_that_stopped_reading_is_noticed_before_the_claim(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(30) == 2
    close(process)
    assert gateway.only.state == "pending"
    assert gateway.count("claim") == 0


def test_a_host_that_died_is_noticed(gateway: StubGateway, hook: HookLine) -> None:
    script = (
        "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:], stdin=0); print(flush=True); time.sleep(60)"
    )
    reading, writing = os.pipe()
    host = subprocess.Popen(
        [sys.executable, "-c", script, *hook.words()], stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.DEVNULL
    )
    os.close(writing)
    assert host.stdin is not None
    host.stdin.write(event())
    host.stdin.close()
    gateway.arrived("get")
    host.kill()
    host.wait()
    os.set_blocking(reading, True)
    said = b""
    while part := os.read(reading, 4096):  # the end comes when the hook, who holds the other end, is gone
        said += part
    os.close(reading)
    assert said.strip() == b""
    assert gateway.count("claim") == 0


def test_a_closed_stdout_is_not_mistaken_for_a_socket(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "allow"
    said = run_words(["sh", "-c", 'exec "$0" "$@" >&-', *hook.words()], stdin=event())
    assert said.code == 2
    assert gateway.count("check") == 0


def test_a_host_that_never_ends_the_event_gets_a_no_by_the_deadline(hook: HookLine) -> None:
    process = hook.start("--deadline", "0.5")
    assert process.wait(10) == 2
    assert process.stderr is not None
    assert b"ran out of time" in process.stderr.read()
    close(process)


def test_the_answer_comes_before_the_hosts_own_timeout(gateway: StubGateway, hook: HookLine) -> None:
    gateway.faults["get"].append("hang")
    said = hook.run(event(), "--deadline", "2")  # the gateway never answers that question
    assert gateway.count("get") == 1
    assert said.decision == "deny"
    assert "repeat the very same call" in said.reason


def test_clocks_that_disagree_by_a_day_change_nothing(gateway: StubGateway, hook: HookLine) -> None:
    gateway.lifetime = timedelta(days=-1)
    said = hook.run(event(), "--deadline", "2")
    assert said.decision == "deny"
    assert "still waits" in said.reason


def test_a_gateway_that_does_not_hold_is_not_stormed(gateway: StubGateway, hook: HookLine) -> None:
    gateway.honour_wait = False
    assert hook.run(event(), "--deadline", "1").decision == "deny"
    assert gateway.count("get") < 10


def test_a_hook_without_memory_says_no(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "allow"
    words = hook.words()
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (48 << 20, 48 << 20)),  # noqa: PLW1509 - one thread that matters
    )
    content = event(arguments={"command": "x" * (30 << 20)})
    try:
        out, _ = process.communicate(content, timeout=HANGS)
    except BrokenPipeError:
        out = b""
    assert process.wait(240) != 0
    assert out == b""


def test_an_answer_about_another_request_says_no(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.only.id = "req_9999"
    gateway.decide("req_0001", "approved")
    assert finish(process).code == 2
    assert gateway.count("claim") == 0


def test_a_state_that_this_version_does_not_know_says_no(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.decide("req_0001", "almost_approved")
    said = finish(process)
    assert said.code == 2
    assert said.out == b""
