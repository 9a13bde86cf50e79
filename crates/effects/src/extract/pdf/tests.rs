//! Small PDFs, written by hand: fonts, layout, damage and inputs that are built to be expensive.

mod damage;
mod fonts;
mod layout;
mod streams;

use super::super::{ExtractError, Extracted};

/// Builds a file of objects, the first of which is the catalogue.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (number, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file.extend(format!("{} 0 obj\n", number + 1).bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let (at, count) = (file.len(), objects.len() + 1);
    file.extend(format!("xref\n0 {count}\n{table}").bytes());
    file.extend(
        format!("trailer << /Size {count} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n").bytes(),
    );
    file
}

/// Builds a stream with `entries` in its dictionary.
fn stream(entries: &str, data: impl AsRef<[u8]>) -> Vec<u8> {
    let data = data.as_ref();
    let mut object = format!("<< /Length {} {entries} >>\nstream\n", data.len()).into_bytes();
    object.extend(data);
    object.extend(b"\nendstream");
    object
}

/// Builds a document with a page for each of `contents`, and `more` objects, numbered from 10 on. All pages share
/// `resources`; its font `/F` is Helvetica, object 3.
fn pages(contents: &[Vec<u8>], resources: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let first = 10 + more.len();
    let kids: Vec<String> = (0..contents.len())
        .map(|page| format!("{} 0 R", first + 2 * page))
        .collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} /MediaBox [0 0 612 792] /Resources << \
             /Font << /F 3 0 R /G 10 0 R >> {resources} >> >>",
            kids.join(" "),
            kids.len()
        )
        .into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
    ];
    objects.resize(9, b"null".to_vec());
    objects.extend_from_slice(more);
    for (page, content) in contents.iter().enumerate() {
        let entry = format!(
            "<< /Type /Page /Parent 2 0 R /Contents {} 0 R >>",
            first + 2 * page + 1
        );
        objects.push(entry.into_bytes());
        objects.push(content.clone());
    }
    file(&objects)
}

fn page(content: &str) -> Vec<u8> {
    pages(&[stream("", content)], "", &[])
}

fn extract(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    super::extract(bytes)
}

/// Returns the text of a file that is completely readable.
fn text(bytes: &[u8]) -> String {
    let found = extract(bytes).unwrap();
    assert_eq!(found.notices, [""; 0], "{:?}", found.text);
    found.text.trim_end().to_owned()
}

/// Returns the text, and the notices of missing parts.
fn parts(bytes: &[u8]) -> (String, Vec<String>) {
    let found = extract(bytes).unwrap();
    (found.text.trim().to_owned(), found.notices)
}

/// Builds a line of Helvetica.
fn show(x: f64, y: f64, line: &str) -> String {
    format!("BT /F 10 Tf {x} {y} Td ({line}) Tj ET\n")
}
