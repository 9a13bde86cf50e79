//! Which language a text is written in, by its script and its function words.
//!
//! Function words are the most frequent words of a language and rare in any other (Zipf; the stop-word method of
//! language identification). A text without any is too short to tell and is read as English.

use super::token::{Token, TokenKind};

/// A language that a text was found to be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English, or nothing that says otherwise.
    English,
    /// Another one, by its English name, or its script where that is all that shows.
    Other(&'static str),
}

/// Share of letters in another script from which a text is not English.
const FOREIGN_SHARE: f32 = 0.3;

/// Function words by language, none of them an English word.
#[rustfmt::skip]
const FUNCTION_WORDS: &[(&str, &[&str])] = &[
    ("German", &[
        "aber", "alle", "auf", "aus", "bei", "bis", "bitte", "dass", "dem", "den", "der", "doch", "dort",
        "durch", "ein", "eine", "einem", "einen", "einer", "es", "für", "gegen", "gibt", "haben", "hat", "ich",
        "ihr", "im", "ist", "jetzt", "kann", "kein", "keine", "können", "mein", "meine", "mir", "mit", "nach",
        "nicht", "noch", "nur", "oder", "ohne", "sich", "sie", "sind", "soll", "über", "und", "uns", "unser",
        "unsere", "unserer", "vom", "von", "wann", "warum", "welche", "welcher", "welches", "wenn", "wer",
        "werden", "wie", "wieviel", "wir", "wird", "wo", "zu", "zum", "zur", "zwischen", "diese", "dieser",
        "als", "beim", "das", "habe", "hast", "hier", "kannst", "sollte", "sollten", "welchem", "welchen",
        "alles", "auch", "bedeutet", "heißt", "zeig", "zeige", "lösche", "sperre", "prüfe", "gib", "nenne",
        "erkläre",
    ]),
    ("Spanish", &[
        "ahora", "al", "algo", "alguien", "antes", "con", "de", "después", "hasta", "mismo", "nunca", "siempre", "aquí", "como", "cómo", "cuál", "cuáles", "cuando", "cuándo", "cuánto",
        "cuántos", "del", "desde", "donde", "dónde", "el", "ella", "ellos", "en", "entre", "eres", "es", "esa",
        "ese", "eso", "esta", "está", "están", "este", "esto", "estos", "fue", "hay", "hemos", "la", "las",
        "los", "más", "mi", "mis", "muy", "nada", "nos", "nuestra", "nuestras", "nuestro", "nuestros", "para",
        "pero", "por", "porque", "puede", "puedo", "pueden", "que", "qué", "quien", "quién", "quiero", "se",
        "según", "ser", "si", "sin", "sobre", "su", "sus", "también", "te", "tengo", "tiene", "tienen", "todo",
        "todos", "tu", "un", "una", "unos", "y", "ya", "yo", "cada", "cierra", "dame", "muestra", "borra",
        "elimina", "bloquea", "explica", "significa",
    ]),
    ("French", &[
        "au", "aux", "avec", "ce", "ces", "cette", "chaque", "combien", "comment", "dans", "de", "donc", "du",
        "elle", "est", "et", "être", "font", "il", "ils", "je", "la", "le", "les", "leur", "lui", "mais",
        "mes", "moi", "mon", "ne", "nos", "notre", "nous", "où", "par", "pas", "pour", "pourquoi", "peut",
        "quand", "que", "quel", "quelle", "quelles", "quels", "qui", "quoi", "sa", "sans", "se", "ses", "si",
        "sont", "sur", "tous", "tout", "toutes", "un", "une", "vos", "votre", "vous", "y", "avons", "montre",
        "supprime", "affiche", "explique",
    ]),
    ("Italian", &[
        "abbiamo", "ai", "alla", "alle", "anche", "che", "chi", "ci", "cosa", "dal", "dalla", "degli", "dei",
        "del", "della", "delle", "di", "dove", "e", "è", "gli", "ha", "hanno", "il", "io", "la", "le", "lo",
        "mi", "nei", "nel", "nella", "non", "nostri", "nostro", "nostra", "ogni", "perché", "più", "posso",
        "può", "quale", "quali", "quando", "quanto", "questa", "questo", "se", "senza", "si", "sono", "su",
        "sul", "sulla", "tutti", "tutto", "un", "una", "uno", "vorrei", "mostra", "elimina", "cancella",
        "spiega",
    ]),
    ("Portuguese", &[
        "ao", "aos", "como", "da", "das", "de", "dos", "e", "é", "ela", "ele", "em", "essa", "esse", "esta",
        "está", "estão", "este", "eu", "foi", "há", "isso", "já", "mais", "mas", "meu", "minha", "na", "nas",
        "não", "nos", "nossa", "nosso", "nossos", "o", "onde", "ou", "para", "pela", "pelo", "por", "porque",
        "pode", "qual", "quais", "quando", "quanto", "que", "quem", "são", "se", "sem", "seu", "sua", "tem",
        "temos", "todos", "um", "uma", "você", "mostre", "apague", "explique",
    ]),
    ("Dutch", &[
        "aan", "alle", "als", "bij", "dat", "de", "deze", "dit", "een", "en", "geen", "graag", "heb", "hebben",
        "heeft", "het", "hij", "hoe", "hoeveel", "ik", "je", "jij", "jullie", "kan", "kunnen", "maar", "meer",
        "met", "mij", "mijn", "moet", "naar", "niet", "nog", "nu", "om", "ons", "onze", "ook", "op", "te",
        "uit", "van", "voor", "waar", "waarom", "wanneer", "wat", "welke", "wie", "wij", "worden", "zijn",
        "zonder", "toon", "verwijder",
    ]),
    ("Polish", &[
        "bez", "być", "czy", "dla", "gdzie", "ile", "jak", "jaki", "jakie", "jest", "już", "kiedy", "które",
        "który", "kto", "mamy", "mnie", "na", "nasze", "nie", "od", "po", "proszę", "przez", "są", "się",
        "tylko", "w", "wszystkie", "z", "za", "że",
    ]),
];

/// English function words; those that other languages share (a, do, in, is, on) are left out.
const ENGLISH: &[&str] = &[
    "about", "and", "any", "anyone", "anything", "are", "at", "be", "been", "but", "by", "can",
    "could", "did", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i",
    "if", "it", "its", "let", "me", "my", "not", "of", "or", "our", "please", "she", "should",
    "show", "some", "than", "that", "the", "their", "them", "there", "these", "they", "this",
    "those", "to", "us", "what", "when", "where", "which", "who", "whose", "why", "will", "with",
    "would", "you", "your", "list", "all", "only", "find", "give", "every", "without", "whether",
    "get",
];

/// Scripts that no English text is written in, by the ranges of their letters.
#[rustfmt::skip]
const SCRIPTS: &[(&str, &[(u32, u32)])] = &[
    ("Japanese", &[(0x3040, 0x30ff)]), ("Chinese", &[(0x3400, 0x9fff), (0x20000, 0x2fa1f)]),
    ("Korean", &[(0x1100, 0x11ff), (0xac00, 0xd7af)]),
    ("Russian or another language in Cyrillic letters", &[(0x0400, 0x052f)]), ("Greek", &[(0x0370, 0x03ff)]),
    ("Arabic or another language in Arabic letters", &[(0x0600, 0x06ff)]), ("Hebrew", &[(0x0590, 0x05ff)]),
    ("Hindi or another language in Devanagari letters", &[(0x0900, 0x097f)]), ("Thai", &[(0x0e00, 0x0e7f)]),
];

/// The names of the languages that are told from English.
pub fn languages() -> impl Iterator<Item = &'static str> {
    let by_words = FUNCTION_WORDS.iter().map(|(name, _)| *name);
    by_words.chain(SCRIPTS.iter().map(|(name, _)| *name))
}

/// The language of a text with these tokens.
pub(super) fn language(text: &str, tokens: &[Token]) -> Language {
    by_script(text)
        .or_else(|| by_words(text, tokens))
        .unwrap_or(Language::English)
}

fn by_script(text: &str) -> Option<Language> {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let counts = SCRIPTS.iter().map(|(name, ranges)| {
        let within = |c: &char| {
            let code = u32::from(*c);
            ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&code))
        };
        (*name, text.chars().filter(within).count())
    });
    let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    let foreign: usize = counts.iter().map(|(_, count)| count).sum();
    if (foreign as f32) < FOREIGN_SHARE * letters.max(1) as f32 {
        return None;
    }
    // A Japanese text has Chinese characters too; one kana tells them apart.
    counts.first().map(|(name, _)| Language::Other(name))
}

fn by_words(text: &str, tokens: &[Token]) -> Option<Language> {
    let words = || {
        let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
        words.map(|token| token.word.as_str())
    };
    let count = |list: &[&str]| words().filter(|word| list.contains(word)).count();
    let english = count(ENGLISH);
    let best = FUNCTION_WORDS
        .iter()
        .map(|(name, list)| (count(list), *name));
    let (most, name) = best.rev().max_by_key(|(count, _)| *count)?;
    // Spelling that English does not have weighs like another function word.
    let marks = text.chars().filter(|c| matches!(c, '¿' | '¡')).count();
    let letters = text.chars().filter(|c| {
        matches!(
            c,
            'ä' | 'ö' | 'ü' | 'ß' | 'ñ' | 'ç' | 'ã' | 'õ' | 'ł' | 'ę' | 'ą'
        )
    });
    let spelled = usize::from(marks > 0) + usize::from(letters.count() > 0);
    match (most, spelled) {
        (0, _) if marks > 0 => Some(Language::Other("Spanish")),
        (0, _) => None,
        (1, 0) if words().count() > 4 => None,
        (most, spelled) if most + spelled > english => Some(Language::Other(name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn of(text: &str) -> Language {
        language(text, &tokens(text))
    }

    #[test]
    fn scripts_and_function_words_tell_languages_apart() {
        for (text, name) in [
            ("Wie viele Server laufen noch im Rechenzentrum?", "German"),
            ("¿Cuántos servidores hay en la red?", "Spanish"),
            ("Combien de serveurs sont dans notre réseau ?", "French"),
            ("Quali server sono ancora accesi nella rete?", "Italian"),
            (
                "Quais servidores estão ligados na nossa rede?",
                "Portuguese",
            ),
            ("Welke servers staan er nog aan in het netwerk?", "Dutch"),
            ("Czy są jeszcze włączone serwery?", "Polish"),
            ("哪些服务器还在运行", "Chinese"),
            ("サーバーはいくつ動いていますか", "Japanese"),
            ("서버가 몇 대 켜져 있나요", "Korean"),
        ] {
            assert_eq!(of(text), Language::Other(name), "{text}");
        }
    }

    #[test]
    fn english_stays_english_with_foreign_names_and_when_it_is_short() {
        for text in [
            "",
            "db-7",
            "servers in Zürich",
            "the café in São Paulo: which tables are free",
            "what does 安全 mean in this report about our servers",
            "des moines warehouse stock",
            "list el paso orders",
            "is it on",
        ] {
            assert_eq!(of(text), Language::English, "{text}");
        }
    }
}
