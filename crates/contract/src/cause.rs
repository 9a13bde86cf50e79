//! Why something failed, in one line. It knows no error type.

use std::error::Error;

/// An error with its causes, each once: `reading the file: permission denied`.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !said.contains(&more) {
            said = format!("{said}: {more}");
        }
        cause = error.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::chain;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Failure {
        text: &'static str,
        source: Option<Box<Failure>>,
    }

    fn failure(texts: &[&'static str]) -> Option<Box<Failure>> {
        let (text, causes) = texts.split_first()?;
        let source = failure(causes);
        Some(Box::new(Failure { text, source }))
    }

    #[test]
    fn each_cause_appears_once_in_the_line() {
        for (texts, line) in [
            (&["asking"][..], "asking"),
            (
                &["asking", "connecting", "refused"][..],
                "asking: connecting: refused",
            ),
            (&["asking: refused", "refused"][..], "asking: refused"),
        ] {
            assert_eq!(chain(&*failure(texts).unwrap()), line);
        }
    }
}
