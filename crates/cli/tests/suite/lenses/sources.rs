//! B000-16: faulty sources of a lens, and folders of a package as sources.

use serde_json::json;

use super::{LENS, LENS_FILE, ask, first, handbook, lens, library, words_only};
use crate::home::{Home, Server};
use crate::packages::Package;
use crate::site::{Page, Site};

/// The faults for which a package's registration is refused, which leaves nothing of the package.
fn refused(server: &Server, package: &Package) -> Vec<String> {
    let refused = server.api.post("/v1/packages", &package.bundle());
    assert_eq!(refused.status, 400, "{:#}", refused.body);
    assert_eq!(server.api.get("/v1/packages").expect(200), json!([]));
    assert_eq!(server.api.get("/v1/lenses").expect(200), json!([]));
    let problems = refused.body["technical_details"]["problems"]
        .as_array()
        .unwrap();
    let said = problems.iter().map(|problem| {
        let text = |field: &str| problem[field].as_str().unwrap().to_owned();
        format!("{}:{} {}", text("file"), problem["line"], text("message"))
    });
    said.collect()
}

/// B000-16: unavailable sources fail the registration, with the line that names them.
#[test]
fn b000_16_a_source_that_cannot_be_had_fails_the_registration() {
    let (site, inside) = (Site::at("127.0.0.1"), Site::at("127.0.0.2"));
    inside.put("/", Page::html("<p>secret</p>"));
    site.put("/away", Page::redirect(&inside.url("/")));
    site.put("/huge", Page::html(vec![b'x'; 50 << 20]));
    site.put(
        "/cut.pdf",
        Page::of("application/pdf", "%PDF-1.7\n1 0 obj\n<< /Type /Catalog"),
    );
    site.put(
        "/hollow.pdf",
        Page::of("application/pdf", "%PDF-1.7\ntrailer\n%%EOF\n"),
    );
    site.put("/blob", Page::of("text/plain", b"\xff\x01\x02abc".to_vec()));
    site.put(
        "/charset",
        Page::html(b"<p>caf\xe9 trans&shy;port".to_vec()),
    );
    site.put("/empty", Page::html("<html><script>x()</script></html>"));
    site.put("/image", Page::of("image/png", "x"));
    let home = words_only(&site);
    let server = home.serve();
    let hash = inside.url("/");
    for (path, expected) in [
        ("/gone", "answered 404 Not Found".to_owned()),
        (
            "/away",
            format!(
                "{hash}: 127.0.0.2 is 127.0.0.2, a private or local address that `lenses.egress` does not name"
            ),
        ),
        ("/huge", "has more than 33554432 bytes".to_owned()),
        (
            "/cut.pdf",
            "the PDF cannot be read: it is truncated: its end mark is missing".to_owned(),
        ),
        ("/hollow.pdf", "the PDF cannot be read: ".to_owned()),
        (
            "/blob",
            "the source is not text: byte 0 is not UTF-8; invalid bytes were replaced by U+FFFD, and it contains \
             control characters"
                .to_owned(),
        ),
        ("/empty", "the source contains no text".to_owned()),
        (
            "/image",
            "the source is `image/png`; a lens reads HTML, Markdown, text and PDF".to_owned(),
        ),
    ] {
        let said = refused(&server, &library(&site.url(path)));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("lenses/handbook.yaml:8 "),
            "{path}: {said:?}"
        );
        assert!(said[0].contains(&expected), "{path}: {said:?}");
    }
    assert!(!server.log().contains("panicked"));
    // One invalid byte does not hide a page; the lens shows a notice.
    let done = server.api.register(&library(&site.url("/charset")));
    let notices = json!(["byte 6 is not UTF-8; invalid bytes were replaced by U+FFFD"]);
    assert_eq!(done["lenses"][0]["notices"], notices, "{done:#}");
    let shown = server.api.get(&format!("/v1/lenses/{LENS}")).expect(200);
    assert_eq!(shown["index"]["notices"], notices, "{shown:#}");
    assert_eq!(
        first(&ask(&server.api, "transport")),
        "caf\u{fffd} transport"
    );
}

/// A PDF with 17 MiB of packed objects that unpack 64-fold: more than 1 GiB.
fn swollen_pdf() -> Vec<u8> {
    let packed = [129, b' '].repeat(17 << 19);
    let mut file = format!(
        "%PDF-1.5\n1 0 obj\n<< /Type /ObjStm /N 1 /First 4 /Filter /RunLengthDecode /Length {} >>\nstream\n",
        packed.len()
    )
    .into_bytes();
    file.extend(packed);
    file.extend(b"\nendstream\nendobj\n2 0 obj\n<< /Type /Catalog /Pages 3 0 R >>\nendobj\n");
    file.extend(b"trailer << /Root 2 0 R >>\n%%EOF\n");
    file
}

/// B000-16: a source that crashes its reader affects nothing else.
#[test]
fn b000_16_a_pdf_that_takes_all_of_its_readers_memory_is_refused() {
    let site = Site::at("127.0.0.1");
    site.put("/swollen.pdf", Page::of("application/pdf", swollen_pdf()));
    site.put("/handbook", handbook(&["keys"]));
    let home = words_only(&site);
    let server = home.serve();
    let said = refused(&server, &library(&site.url("/swollen.pdf")));
    assert!(
        said[0].starts_with(
            "lenses/handbook.yaml:8 the source cannot be read: its reader was ended by signal "
        ),
        "{said:?}"
    );
    server.api.register(&library(&site.url("/handbook")));
    assert!(first(&ask(&server.api, "keys")).contains("keys rule"));
}

/// B000-16: a source that is expensive by design is read, or refused, at a limited cost.
#[test]
fn b000_16_deep_and_swollen_html_is_read_within_bounds() {
    let site = Site::at("127.0.0.1");
    let deep = format!("{}deepest word", "<div><b>".repeat(100_000));
    site.put("/deep", Page::html(deep));
    let attributes: String = (0..100_000)
        .map(|n| format!(" a{n}=\"&amp;&amp;&amp;\""))
        .collect();
    let entities = "&CounterClockwiseContourIntegral;".repeat(500_000);
    site.put(
        "/swollen",
        Page::html(format!("<p{attributes}>{entities} swollen word")),
    );
    let words = "bomb ".repeat(5 << 20);
    site.put("/long", Page::html(format!("<p>{words}")));
    let home = words_only(&site);
    let server = home.serve();
    let said = refused(&server, &library(&site.url("/long")));
    assert_eq!(
        said,
        ["lenses/handbook.yaml:8 the source contains more than 16777216 bytes of text"]
    );
    server.api.register(&library(&site.url("/deep")));
    assert_eq!(first(&ask(&server.api, "deepest")), "deepest word");
    let swollen = library(&site.url("/swollen")).version("1.0.0", "1.0.1");
    server.api.register(&swollen);
    assert!(first(&ask(&server.api, "swollen")).ends_with("swollen word"));
}

/// B000-16: a folder of the package is one lens, and each passage names its file.
#[test]
fn b000_16_a_folder_of_the_package_is_one_lens() {
    let site = Site::at("127.0.0.1");
    let server_home = words_only(&site);
    let server = server_home.serve();
    let missing = Package::new("library", "1.0.0", "tenant")
        .with(LENS_FILE, &lens(LENS, "file", "sources/books"));
    let said = refused(&server, &missing);
    assert_eq!(
        said,
        ["lenses/handbook.yaml:8 the package has no file or folder `sources/books`"]
    );
    let package = missing
        .with("sources/books/a.md", "# Keys\n\nRotate keys.\n")
        .with("sources/books/b/c.html", "<h1>Doors</h1><p>Close doors.")
        .with("sources/other.md", "Nothing about books.");
    let done = server.api.register(&package);
    assert_eq!(done["lenses"][0]["chunks"], 2);
    let answer = ask(&server.api, "doors");
    assert_eq!(
        answer["passages"].as_array().unwrap().len(),
        1,
        "{answer:#}"
    );
    let score = answer["passages"][0]["score"].as_f64().unwrap();
    assert!(score > 0.5, "the only passage answers: {answer:#}");
    let position = &answer["passages"][0]["position"];
    assert_eq!(
        (&position["file"], &position["headings"]),
        (&json!("sources/books/b/c.html"), &json!(["Doors"]))
    );
    // An unreadable file is skipped and named; if all are unreadable, nothing comes into force.
    let package = package
        .with("sources/books/empty.md", " \n")
        .version("1.0.0", "1.0.1");
    let done = server.api.register(&package);
    let left_out =
        json!([{"file": "sources/books/empty.md", "reason": "the source contains no text"}]);
    assert_eq!(done["lenses"][0]["left_out"], left_out);
    assert_eq!(done["lenses"][0]["chunks"], 2);
    let shown = server.api.get(&format!("/v1/lenses/{LENS}")).expect(200);
    assert_eq!(shown["index"]["left_out"], left_out);
    let broken = package
        .clone()
        .with("sources/books/a.md", " \n")
        .with("sources/books/b/c.html", "<h1></h1>")
        .version("1.0.1", "1.0.2");
    let refused = server.api.post("/v1/packages", &broken.bundle());
    let problem = &refused.body["technical_details"]["problems"][0];
    assert_eq!(
        problem["message"],
        "sources/books/empty.md: the source contains no text"
    );
    assert!(first(&ask(&server.api, "keys")).contains("Rotate keys"));

    check_pdf_of_a_folder(&server_home, &server, &package);
}

/// A PDF is sent as it is in the directory. Its unreadable pages are named, and the others are found.
#[track_caller]
fn check_pdf_of_a_folder(home: &Home, server: &Server, package: &Package) {
    let package = package.clone().version("1.0.1", "1.0.2");
    let folder = package.write(&home.path("library"));
    let file = home.path("library").join("sources/books/d.pdf");
    std::fs::write(file, pdf_with_a_bad_page()).unwrap();
    let registered = home.run(&["package", "register", &folder]);
    assert_eq!(registered.code, Some(0), "{}", registered.err);
    let notice = "sources/books/d.pdf: page 2 is only partly read: a stream is missing or damaged";
    assert!(registered.out.contains(notice), "{}", registered.out);
    let shown = server.api.get(&format!("/v1/lenses/{LENS}")).expect(200);
    assert_eq!(shown["index"]["notices"], json!([notice]));
    let answer = ask(&server.api, "ceilings");
    assert!(first(&answer).contains("Paint ceilings"), "{answer:#}");
    assert_eq!(
        answer["passages"][0]["position"]["file"],
        "sources/books/d.pdf"
    );
    let no_pdf = package
        .version("1.0.2", "1.0.3")
        .with("sources/books/d.pdf", "text");
    let refused = server.api.post("/v1/packages", &no_pdf.bundle());
    let problem = &refused.body["technical_details"]["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["message"]),
        (
            &json!("sources/books/d.pdf"),
            &json!("not a PDF: the content does not begin with `%PDF-`")
        )
    );
}

/// A PDF of two pages, one of which is unreadable.
fn pdf_with_a_bad_page() -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let content = "BT /F 12 Tf 72 700 Td (Paint ceilings white.) Tj ET";
    for (number, object) in (1..).zip([
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /Resources << /Font << /F 7 0 R >> >> >>",
        "<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>",
        "<< /Type /Page /Parent 2 0 R /Contents 6 0 R >>",
        &format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Length 4 /Filter /FlateDecode >>\nstream\n\u{1}\u{2}\u{3}\u{4}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]) {
        file.extend(format!("{number} 0 obj\n{object}\nendobj\n").bytes());
    }
    file.extend(b"trailer << /Root 1 0 R >>\n%%EOF\n");
    file
}
