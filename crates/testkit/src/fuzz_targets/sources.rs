//! Source documents, as parsed by the extraction process.

use charter_effects::{MAX_TEXT_BYTES, MediaType, extract};

use super::Verdict;

pub(super) const HTML_WORDS: &[&str] = &[
    "<",
    ">",
    "</",
    "/>",
    "<div>",
    "</div>",
    "<p>",
    "<h1>",
    "</h1>",
    "<pre>",
    "<nav>",
    "<script>",
    "</script>",
    "<svg/>",
    "<li>",
    "<!--",
    "-->",
    "<!DOCTYPE ",
    "<![CDATA[",
    "&amp;",
    "&#x1F600;",
    "&notin;",
    " a='",
    "\"",
    "<meta charset=utf-16>",
    "<title>",
    "<template>",
    "text",
];

pub(super) const MARKDOWN_WORDS: &[&str] = &[
    "# ", "## ", "\n", "---", "===", "```", "~~~", "- ", "> ", "|", "\u{feff}", "text",
];

pub(super) const PDF_WORDS: &[&str] = &[
    "%PDF-1.4\n",
    " obj\n",
    "endobj\n",
    "<<",
    ">>",
    "stream\n",
    "endstream\n",
    "/Length ",
    "/Filter /FlateDecode ",
    "/Type ",
    "/Page ",
    "/Pages ",
    "/Kids [",
    "/Count ",
    "/Contents ",
    "/Font ",
    "/ToUnicode ",
    "/Encoding ",
    "/W [",
    "/ObjStm ",
    "/XRef ",
    "/Prev ",
    "/Root ",
    " 0 R",
    "xref\n",
    "trailer",
    "startxref\n",
    "%%EOF\n",
    "BT ",
    "ET ",
    " Tj ",
    " Do ",
    "(",
    ")",
    "[",
    "]",
    "99999999999",
];

/// Extracts the text of an HTML page.
pub(super) fn html(input: &[u8]) -> Verdict {
    text_of(input, MediaType::Html)
}

/// Extracts the text of a Markdown document.
pub(super) fn markdown(input: &[u8]) -> Verdict {
    text_of(input, MediaType::Markdown)
}

/// Extracts the text of a PDF. Its parser may panic and has no limits, so it runs in a process that ends it.
pub(super) fn pdf(input: &[u8]) -> Verdict {
    text_of(input, MediaType::Pdf)
}

fn text_of(input: &[u8], media_type: MediaType) -> Verdict {
    let extracted = extract(input, media_type, None);
    if let Ok(extracted) = &extracted {
        let length = extracted.text.len();
        assert!(length <= MAX_TEXT_BYTES, "{length} bytes of text");
        let mut marks = extracted.marks.iter();
        assert!(
            marks.all(|mark| mark.at <= length),
            "a mark behind the text"
        );
    }
    Verdict::from_result(&extracted)
}
