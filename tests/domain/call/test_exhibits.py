"""What a call brings along is taken only as what it plainly is; all else is refused, with the fault and a mend."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from app.domain.call.exhibit import MOST, MOST_OF_A_FILE, MOST_TOGETHER, Exhibit, read_evidence, sent_again
from app.domain.call.file_type import MOST_ON_A_SIDE, FileFaultError, MediaType, type_of
from app.domain.errors import InvalidError
from tests.domain.exhibit_files import ALL, INVOICE, PHOTO, a_file, a_link, chunk, jpeg, pdf, png
from tests.domain.samples import a_call, a_request
from tests.requirements import requirement


def read(*given: dict[str, Any]) -> list[Exhibit]:
    return [each.exhibit for each in read_evidence(given, told=lambda text: text.replace("hunter2", "•••"))]


def refused(*given: dict[str, Any]) -> str:
    with pytest.raises(InvalidError) as fault:
        read(*given)
    assert str(fault.value.more["path"]).startswith("evidence")
    return fault.value.detail


def test_a_link_and_both_kinds_of_files_are_taken_and_named_by_their_sum() -> None:
    invoice, photo, link = read(*ALL)
    assert (invoice.title, invoice.media_type, invoice.size) == ("invoice.pdf", "application/pdf", len(INVOICE))
    assert (photo.type, photo.size) == (MediaType.PNG, len(PHOTO))
    assert (link.title, link.host, link.type) == ("Order 7", "erp.acme.example", None)
    assert len({each.sha256 for each in (invoice, photo, link)}) == 3
    assert "title" not in link.facts()
    assert "url" not in link.facts()
    assert "title" not in invoice.facts()


def test_what_is_sent_again_is_what_was_sent() -> None:
    offered = read_evidence(ALL, told=str)
    again = [sent_again(each.exhibit, each.content) for each in offered]
    assert read_evidence(again, told=str) == offered


@requirement("S-105")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"GIF89a\x01\x00\x01\x00", "neither PDF, PNG nor JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "neither PDF, PNG nor JPEG"),
        (b"<!doctype html><script>alert(1)</script>", "neither PDF, PNG nor JPEG"),
        (b"<html>" + INVOICE, "neither PDF, PNG nor JPEG"),
        (pdf(begin=b"%PDF-1.7\n<html><script>alert(1)</script>"), "begins like a web page"),
        (pdf(begin=b"%PDF-1.7\n<  SVG onload=x>"), "begins like a web page"),
        (pdf(begin=b"%PDF-9.9\n"), "unknown version"),
        (pdf(begin=b"%PDF-1.7"), "unknown version"),
        (pdf(end=b"%%EOF\n<script>alert(1)</script>"), "something else behind its end"),
        (INVOICE[:40], "cut off"),
        (PHOTO[:20], "cut off"),
        (PHOTO[:-4], "cut off"),
        (PHOTO + b"<script>alert(1)</script>", "something else behind its end"),
        (png(end=b"\x00\x00\x00\x04IEND\xaeB\x60\x82"), "something else behind its end"),
        (png(more=chunk(b"acTL", bytes(8))), "more than one picture"),
        (png(more=chunk(b"IHDR", bytes(13))), "more than one picture"),
        (png(more=chunk(b"tEXt", b"") * 2_000), "cut off, or has something else"),
        (png(MOST_ON_A_SIDE + 1, 1), "make it smaller"),
        (png(9_000, 9_000), "9000 × 9000"),
        (png(0, 5), "make it smaller"),
        (png(2**31, 2**31), "make it smaller"),
        (jpeg(60_000, 60_000), "make it smaller"),
        (jpeg(0, 0), "make it smaller"),
        (jpeg()[:12], "broken or cut off"),
        (jpeg()[:-1], "broken or cut off"),
        (jpeg() + b"<script>", "something else behind its end"),
        (jpeg(end=b"\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00\xff\xd9"), "more than one picture"),
        (b"\xff\xd8\xff\xd9", "broken or cut off"),
        (b"\xff\xd8\xff\xe0\x00\x00", "broken or cut off"),
    ],
    ids=range(30),
)  # fmt: skip
def test_a_file_that_is_not_plainly_one_of_three_kinds_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(FileFaultError) as fault:
        type_of(content)
    assert says in str(fault.value).replace("9000 × 9000", "9000 × 9000")


def test_pictures_as_cameras_and_programs_write_them_are_taken() -> None:
    assert type_of(jpeg(4000, 3000, scan=b"\x00\xff\x00\xff\xd0\x11\xff\xd7\xff\xff\x00" * 50)) is MediaType.JPEG
    progressive = jpeg(end=b"\xff\xc4\x00\x03\x00\xff\xda\x00\x02\x01\x02\xff\xd9")
    assert type_of(progressive) is MediaType.JPEG
    assert type_of(png(8_000, 5_000)) is MediaType.PNG
    assert type_of(png(more=chunk(b"tEXt", b"Comment\x00<b>hello</b>"))) is MediaType.PNG
    assert type_of(pdf(begin=b"%PDF-2.0\r\n", end=b"%%EOF\r\n\r\n")) is MediaType.PDF


@requirement("S-105")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (a_file(PHOTO), "its content is image/png"),
        ({**a_file(b""), "content": "!!!"}, "no base64"),
        ({**a_file(INVOICE), "content": base64.b64encode(INVOICE).decode()[:-2]}, "no base64"),
        ({**a_file(INVOICE), "content": "é" * 4}, "no base64"),
        (a_file(pdf(size=MOST_OF_A_FILE)), "a file may have 524,288 bytes"),
        (a_file(INVOICE, name="../../etc/passwd"), "without folders"),
        (a_file(INVOICE, name="a\\b.pdf"), "without folders"),
        (a_file(INVOICE, name="a.pdf\r\nSet-Cookie: x=y"), "control characters"),
        (a_file(INVOICE, name="a\x1b[2J.pdf"), "control characters"),
        (a_file(INVOICE, name=" "), "1 to 120 characters"),
        (a_file(INVOICE, name="x" * 121), "1 to 120 characters"),
        (a_link("http://erp.acme.example/"), "https://"),
        (a_link("javascript:alert(1)"), "https://"),
        (a_link("HTTPS://erp.acme.example/"), "https://"),
        (a_link("https://bank.example@evil.example/"), "before the @"),
        (a_link("https://bank.example:443@evil.example/?a@b"), "before the @"),
        (a_link("https://b\u0430nk.example/"), "ASCII form"),
        (a_link("https://bank.example/a b"), "ASCII form"),
        (a_link("https://bank.example\\@evil.example/"), "before the @"),
        (a_link('https://bank.example/"><script>'), "ASCII form"),
        (a_link("https:///nowhere"), "ASCII form"),
        (a_link("https://bank.example/" + "a" * 2_000), "up to 2000"),
        (a_link("https://bank.example/?token=hunter2"), "a secret"),
        (a_link(title="x\ny"), "control characters"),
    ],
    ids=range(24),
)  # fmt: skip
def test_what_could_be_taken_for_something_else_is_refused_with_a_mend(given: dict[str, Any], says: str) -> None:
    assert says in refused(given)
    assert refused(a_link(), given).startswith("evidence.1.")


@requirement("S-02")
def test_an_approval_is_of_the_evidence_that_was_shown_and_without_any_it_is_what_it_was() -> None:
    def digest(*given: dict[str, Any]) -> str:
        return a_request(call=a_call(evidence=tuple(read(*given)))).digest

    bare = digest()
    assert bare == a_request().digest
    others = [
        digest(a_link()),
        digest(a_link(title="Order 8")),
        digest(a_link("https://erp.acme.example/orders/8")),
        digest(a_file(INVOICE)),
        digest(a_file(INVOICE, name="b.pdf")),
        digest(a_file(pdf(size=1))),
        digest(a_link(), a_file(INVOICE)),
    ]
    assert len({bare, *others}) == 8


def test_how_much_a_call_brings_along_is_bounded() -> None:
    assert len(read(*[a_link()] * MOST)) == MOST
    assert f"up to {MOST}" in refused(*[a_link()] * (MOST + 1))
    half = a_file(pdf(size=MOST_TOGETHER // 2 - 200))
    read(half, half)
    assert "together" in refused(half, half, a_file(pdf(size=400)))


def test_titles_and_names_are_shown_without_what_must_not_be_seen() -> None:
    link, file = read(a_link(title="pw hunter2"), a_file(INVOICE, name="hunter2.pdf"))
    assert (link.title, file.title) == ("pw •••", "•••.pdf")
