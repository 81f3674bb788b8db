"""``doc.parse`` on real files, and on files that are made to do harm."""

import io
import os
import zipfile
from pathlib import Path

import docx
import pytest

import helmdeck_pack_documents
from helmdeck_core import PackError, PackErrorCode
from helmdeck_pack_documents import docx_file, worker
from helmdeck_pack_documents.document import Refused
from helmdeck_pack_documents.parse import NAME

PDF = Path(__file__).with_name("data") / "tides.pdf"
PORTS = [
    ["Port", "Country", "Spring (m)", "Neap (m)"],
    ["Brest", "France", "7.4", "3.1"],
    ["Cork", "Ireland", "4.1", "2.0"],
]


@pytest.fixture
def parse(deck_with, tmp_path):
    """Run the pack on a file of the root with the given content, in its process."""

    def run(content, name="file.pdf", options=None, **inputs):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        config = {"packs": {"options": {"doc": {"root": str(tmp_path), **(options or {})}}}}
        return deck_with(helmdeck_pack_documents, config=config).run(NAME, {"path": name, **inputs})

    return run


@pytest.fixture
def read(tmp_path):
    """Read a file as the process does, without a process."""

    def run(content, name, **request):
        path = tmp_path / "document"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        defaults = {"path": str(path), "name": name, "first_page": 1, "max_pages": 500}
        return worker.read({**defaults, **request})

    return run


def pdf(*objects, root=1, trailer=""):
    """A PDF of these objects."""
    data, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    end = f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root {root} 0 R {trailer} >>\nstartxref\n{len(data)}\n%%EOF"
    return data + end.encode()


def blank_pages(count):
    kids = " ".join(f"{number} 0 R" for number in range(3, count + 3))
    page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    return pdf(
        "<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {count} >>", *[page] * count
    )


def word(**parts):
    """A DOCX file with some parts replaced."""
    file = io.BytesIO()
    document = docx.Document()
    document.add_heading("Tides", 0)
    document.add_heading("Why", 1)
    document.add_paragraph("The Moon pulls.")
    document.add_paragraph("It rises.", style="List Bullet")
    table = document.add_table(len(PORTS), 4)
    for row, cells in zip(table.rows, PORTS, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.save(file)
    if not parts:
        return file.getvalue()
    target = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, parts.get(Path(name).stem, old.read(name)))
    return target.getvalue()


def test_pdf_has_headings_columns_and_tables_without_running_titles(parse):
    output = parse(PDF.read_bytes())
    assert (output["format"], output["title"], output["pages"]) == ("pdf", "Tides of the Atlantic", 3)
    assert [(each["level"], each["text"], each["page"]) for each in output["headings"]] == [
        (1, "Tides of the Atlantic", 1),
        (1, "Why the sea rises", 1),
        (1, "Heights at three ports", 1),
        (2, "Method", 2),
        (1, "What sailors should do", 3),
    ]
    (table,) = output["tables"]
    assert (table["heading"], table["page"], table["rows"][:3]) == ("Heights at three ports", 1, PORTS)
    text = output["text"]
    assert text.index("first column ends") < text.index("second column begins")
    assert text.index("| Brest |") < text.index("The table ends here.")
    assert "Page 1" not in text and "Harbour office\n" not in text


def test_pages_of_a_pdf_can_be_selected(read):
    found = read(PDF.read_bytes(), "a.pdf", first_page=2, last_page=2)
    assert [each["text"] for each in found["headings"]] == ["Method"]
    with pytest.raises(Refused, match="first_page 4 is after the last page, 3"):
        read(PDF.read_bytes(), "a.pdf", first_page=4)


def test_docx_has_headings_lists_and_tables(read):
    found = read(word(), "a.docx")
    assert found["text"].startswith("# Tides\n\n# Why\n\nThe Moon pulls.\n\n- It rises.\n\n| Port |")
    assert found["tables"] == [{"heading": "Why", "rows": PORTS}]


def test_title_of_a_docx_without_properties_is_that_of_its_text(read):
    relationships = b"".join(
        [
            b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="',
            b'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>',
            b"</Relationships>",
        ]
    )
    assert read(word(**{".rels": relationships}), "a.docx")["title"] == "Tides"


def test_html_has_headings_lists_and_tables_and_no_scripts(read):
    page = """<title>T</title><script>alert(1)</script><nav>menu</nav><h1>Ti<b>d</b>es<br>rise</h1><p>The <i>Moon</i> pulls.<ul><li>a<ul><li>b</ul></ul>
    <table><tr><th>Port<th>m<th>n<tr><td rowspan=2>Brest<td>7<td>3<tr><td colspan=2>8</table>after"""
    found = read(page, "a.html")
    assert found["text"].partition("\n\n|")[0] == "# Tides rise\n\nThe Moon pulls.\n\n- a\n- b"
    assert found["tables"][0]["rows"] == [["Port", "m", "n"], ["Brest", "7", "3"], ["", "8", ""]]
    assert found["title"] == "T" and found["text"].endswith("\n\nafter")


def test_html_in_an_older_encoding_is_read_as_it_declares(read):
    page = '<html><head><meta charset="iso-8859-1"></head><body><p>Größe</p></body></html>'
    assert read(page.encode("latin-1"), "a.html")["text"] == "Größe"


def test_markdown_has_headings_and_tables_without_marks(read):
    found = read(
        "Title\n===\n\n**The** [Moon](x).\n\n* a\n* b\n\n| p | m |\n|---|---|\n| B | 7 |\n\n```\nx  = 1\n```\n", "a.md"
    )
    assert found["text"] == "# Title\n\nThe Moon.\n\n- a\n- b\n\n| p | m |\n|---|---|\n| B | 7 |\n\n```\nx  = 1\n```"
    assert found["tables"] == [{"heading": "Title", "rows": [["p", "m"], ["B", "7"]]}]


def test_pages_without_text_are_a_finding(read):
    found = read(blank_pages(4), "a.pdf")
    assert found["findings"][0] == "pages without text: 1-4; scanned pages need doc.ocr"


ENCRYPT = (
    f"/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{'00' * 32}> /U <{'00' * 32}> >> /ID [<00> <00>]"
)
CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"
DEEP = "[" * 5_000 + "]" * 5_000
ENTITY = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
BODY = "<w:body><w:p><w:r><w:t>a&x;b</w:t></w:r></w:p></w:body></w:document>"
NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


@pytest.mark.parametrize(
    ("content", "name", "detail"),
    [
        pytest.param(
            blank_pages(501), "a.pdf", "it has 501 pages, of which 501 are requested; at most 500", id="pages"
        ),
        pytest.param(
            pdf(CATALOG, "<< /Type /Pages /Kids [] /Count 0 >>", trailer=ENCRYPT), "a.pdf", "encrypted", id="encrypted"
        ),
        pytest.param(
            pdf(CATALOG, "<< /Type /Pages /Kids [2 0 R] /Count 9 >>"),
            "a.pdf",
            "has no pages|not a readable",
            id="circle",
        ),
        pytest.param(pdf(CATALOG, f"<< /Kids {DEEP} >>"), "a.pdf", "no pages|deeply|readable", id="deep"),
        pytest.param(PDF.read_bytes()[:1_500], "a.pdf", "no pages|not a readable PDF", id="truncated"),
        pytest.param(b"%PDF-1.4\n" + os.urandom(2_000), "a.pdf", "no pages|not a readable PDF", id="random"),
        pytest.param(word()[:9_000], "a.docx", "damaged ZIP archive", id="truncated-docx"),
        pytest.param(word(document=b"<a>"), "a.docx", "not a readable DOCX", id="malformed-docx"),
        pytest.param(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.docx", "older Word, or encrypted", id="doc"),
        pytest.param(b"PK\x03\x04", "a.xlsx", "damaged ZIP", id="zip"),
        pytest.param("hello", "a.pdf", "not a PDF file", id="text-as-pdf"),
        pytest.param("hello", "a.rtf", "'.rtf' is not supported; PDF, DOCX, HTML", id="rtf"),
        pytest.param(b"\xff\xfe\xfa", "a.md", "not UTF-8 text", id="encoding"),
        pytest.param(b"a\0b", "a.txt", "not text, although", id="binary"),
    ],
)
def test_harmful_and_damaged_files_are_refused_with_a_reason(read, content, name, detail):
    with pytest.raises(Refused, match=detail):
        read(content, name)


def test_zip_bomb_is_refused_before_it_is_unpacked(read, monkeypatch):
    monkeypatch.setattr(docx_file, "MAX_UNPACKED_BYTES", 2_000_000)
    with pytest.raises(Refused, match="at most 5,000 files and 2,000,000 bytes are read"):
        read(word(styles=b" " * 3_000_000), "a.docx")


def test_external_entities_are_not_loaded(read):
    assert read(word(document=f"{ENTITY}<w:document {NAMESPACE}>{BODY}".encode()), "a.docx")["text"] in ("a", "ab")
    assert read(f"{ENTITY}<html><body><p>a&x;b</p></body></html>", "a.html")["text"].endswith("a&x;b")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("> " * 3_000 + "x", "a.md"),
        ("[" * 3_000, "a.md"),
    ],
)
def test_deep_nesting_ends(read, content, name):
    assert read(content, name)["text"] is not None


def test_deeply_nested_html_is_read_completely(read):
    page = "<p>one</p>" + "<div>" * 1_000 + "two" + "</div>" * 1_000 + "<p>three</p>"
    assert read(page, "a.html")["text"] == "one\n\ntwo\n\nthree"


@pytest.mark.parametrize("page", ["<p>one</p>" + "<div>" * 20_000 + "two", "<table><tr><td>" * 3_000 + "two"])
def test_html_that_is_nested_too_deeply_for_its_parser_is_refused(read, page):
    with pytest.raises(Refused, match="its elements are nested too deeply"):
        read(page, "a.html")


def test_parser_that_takes_too_long_or_too_much_memory_is_ended(parse):
    slow = "".join(f"[a{number}" for number in range(20_000))
    with pytest.raises(PackError, match=r"took longer than \[packs.options.doc\] timeout_s, 0.1 s") as failed:
        parse(slow, "a.md", {"timeout_s": 0.1})
    assert failed.value.code is PackErrorCode.TIMEOUT
    with pytest.raises(PackError, match="needs more memory|failed on it") as failed:
        parse("<p>" + "<b>x</b>" * 300_000, "a.html", {"max_memory_bytes": 60_000_000})
    assert failed.value.code is PackErrorCode.INVALID_INPUT


def test_only_regular_files_below_the_root_are_read(parse, tmp_path):
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.md")
    reasons = {
        "/etc/hostname": "it is outside .*root allows another folder",
        "link.md": "it is outside",
        "../x.md": "No such file|outside",
        "pipe.md": "not a regular file",
        ".": "not a regular file|Is a directory",
        "a\0b": "null",
        "file.pdf": "max_bytes is 3",
    }
    for path, reason in reasons.items():
        with pytest.raises(PackError, match=reason) as failed:
            parse("12345", options={"max_bytes": 3}, path=path)
        assert failed.value.code is PackErrorCode.INVALID_INPUT
