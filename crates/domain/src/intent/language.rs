//! Recognises the language of a text by its script, its function words and the words of commands.
//!
//! Function words are the most frequent words of a language and rare in any other (Zipf; the stop-word method of
//! language identification). A command may have none ("Liste serveurs"), so common verbs and nouns of commands are
//! listed too. A word that also occurs in English texts (`de`, `todo`) is not sufficient alone. A text without any
//! listed word is treated as English.

use super::token::{Token, TokenKind};

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English, or no evidence of another language.
    English,
    /// Another language, by its English name, or by its script if only that is known.
    Other(&'static str),
}

/// The share of letters in another script from which a text is not English.
const FOREIGN_SHARE: f32 = 0.3;

/// The weight of a word that occurs in only one language; a shared word has weight 1.
const WEIGHT_OF_OWN: usize = 2;
/// The number of shared words that identify a language without a word of its own.
const LEAST_SHARED: usize = 2;
/// The required share of these words in the text, as a divisor.
const SHARED_IN: usize = 3;

/// The words by which a language is recognised.
struct LanguageWords {
    name: &'static str,
    /// Words that do not occur in English texts, spelt with and without accents.
    own: &'static [&'static str],
    /// Words that also occur in English texts, as words, names or abbreviations.
    shared: &'static [&'static str],
}

/// The words of each language with Latin script.
#[rustfmt::skip]
const LANGUAGES: &[LanguageWords] = &[
    LanguageWords {
        name: "German",
        own: &[
            "aber", "alle", "aller", "alles", "auch", "auf", "außen", "bedeutet", "beim", "bitte", "dass", "davon",
            "deren", "diese", "diesem", "diesen", "dieser", "dieses", "doch", "durch", "ein", "eine", "einem",
            "einen", "einer", "eines", "etwas", "für", "fuer", "gegen", "gerade", "gibt", "haben", "habe", "ich",
            "ihm", "ihn", "ihr", "ihre", "ihren", "ist", "jede", "jeden", "jeder", "jetzt", "kann", "kannst", "kein",
            "keine", "keinen", "können", "koennen", "könnt", "mein", "meine", "meinen", "meiner", "möchte", "moechte",
            "müssen", "nach", "nicht", "nichts", "noch", "nur", "ohne", "schon", "sehr", "seit", "sich", "sie",
            "soll", "sollen", "sollte", "sollten", "über", "ueber", "und", "unser", "unsere", "unserem", "unseren",
            "unserer", "vom", "wann", "warum", "welche", "welchem", "welchen", "welcher", "welches", "wenn", "werden",
            "wieder", "wieviel", "wieviele", "wie", "wir", "wird", "wurde", "wurden", "würde", "zum", "zur",
            "zwischen", "aktiviere", "aktivieren", "ändere", "ändern", "aendere", "aendern", "anlegen", "anzeigen",
            "auflisten", "ausschalten", "beende", "beenden", "deaktiviere", "deaktivieren", "einschalten", "entferne",
            "entfernen", "entsperre", "entsperren", "erkläre", "erklaere", "erstelle", "erstellen", "finde", "finden",
            "führe", "gebe", "heißt", "heisst", "herunterfahren", "hochfahren", "installiere", "installieren",
            "kündige", "laufen", "läuft", "lösche", "loesche", "löschen", "loeschen", "migriere", "nenne",
            "neustarten", "öffne", "oeffne", "öffnen", "prüfe", "pruefe", "prüfen", "pruefen", "reboote", "restarte",
            "restarten", "rotiere", "rotieren", "schalte", "schließe", "schliesse", "schließen", "schicke", "sende",
            "senden", "setze", "sichere", "sichern", "sperre", "sperren", "sortiere", "starte", "starten", "stelle",
            "stoppe", "stoppen", "storniere", "stornieren", "suche", "suchen", "verschiebe", "verschieben", "wechsle",
            "zähle", "zeig", "zeige", "zeigen", "benutzer", "bestellung", "bestellungen", "datenbank", "datenbanken",
            "dienste", "fehler", "konten", "konto", "kunde", "kunden", "letzte", "letzten", "nutzer", "offene",
            "offenen", "rechnung", "rechnungen", "schlüssel", "sicherheitsgruppen", "verbindungen", "zertifikat",
            "zertifikate", "zugänge",
        ],
        shared: &[
            "als", "aus", "bei", "bis", "das", "dem", "den", "der", "dort", "es", "fährt", "gib", "hast", "hier",
            "im", "liste", "mir", "mit", "oder", "sind", "uns", "von", "wer", "wo", "zu",
        ],
    },
    LanguageWords {
        name: "Spanish",
        own: &[
            "ahora", "algo", "alguien", "algún", "algun", "alguna", "aquí", "aqui", "cada", "cómo", "cuál", "cual",
            "cuáles", "cuales", "cuando", "cuándo", "cuánto", "cuanto", "cuánta", "cuántas", "cuantas", "cuántos",
            "cuantos", "desde", "después", "despues", "donde", "dónde", "ellos", "eres", "esas", "eso", "esos",
            "está", "están", "estan", "esto", "estos", "fue", "hasta", "hemos", "más", "mismo", "muy", "nuestra",
            "nuestras", "nuestro", "nuestros", "nunca", "pero", "por", "porque", "puede", "pueden", "puedo", "qué",
            "quien", "quién", "quiero", "según", "segun", "siempre", "sobre", "sus", "también", "tambien", "tengo",
            "tiene", "tienen", "todas", "todos", "unos", "abre", "abrir", "apaga", "apagar", "arranca", "arrancar",
            "bloquea", "bloquear", "borra", "borrar", "busca", "buscar", "cambia", "cambiar", "cancelar", "cerrar",
            "cierra", "crear", "desactiva", "desbloquea", "detén", "deten", "detener", "elimina", "eliminar",
            "encuentra", "encontrar", "enciende", "envía", "enviar", "explica", "iniciar", "inicia", "listado",
            "listar", "muéstrame", "muestrame", "muestra", "mostrar", "muestre", "remediar", "reinicia", "reiniciar",
            "restaura", "revisa", "revisar", "significa", "abiertos", "abiertas", "certificados", "clientes",
            "contraseñas", "cuenta", "cuentas", "factura", "facturas", "grupos", "instancias", "pedido", "pedidos",
            "públicas", "públicos", "publicos", "reglas", "seguridad", "servidor", "servidores", "usuario",
            "usuarios",
        ],
        shared: &[
            "activa", "al", "como", "con", "dame", "de", "del", "el", "ella", "en", "entre", "es", "esa", "ese",
            "esta", "este", "hay", "la", "las", "lista", "lo", "los", "mi", "mis", "nada", "nos", "para", "que", "se",
            "ser", "si", "sin", "su", "te", "todo", "tu", "un", "una", "y", "ya", "yo",
        ],
    },
    LanguageWords {
        name: "French",
        own: &[
            "avec", "ces", "cette", "chaque", "combien", "dans", "donc", "être", "leur", "leurs", "mais", "notre",
            "où", "peut", "peuvent", "pourquoi", "quand", "quel", "quelle", "quelles", "quels", "quoi", "sont",
            "toutes", "tous", "une", "votre", "vos", "vous", "avons", "actifs", "affichez", "afficher", "arrête",
            "arrêter", "arrete", "chercher", "cherche", "crée", "créer", "démarre", "démarrer", "demarre",
            "désactive", "explique", "fermer", "montre", "montrer", "montrez", "ouvre", "ouvrir", "redémarre",
            "redémarrer", "redemarre", "redemarrer", "rechercher", "supprime", "supprimer", "supprimez", "trouve",
            "trouver", "vérifie", "vérifier", "certificats", "commandes", "compte", "comptes", "factures", "fichiers",
            "groupes", "ouverts", "ouvertes", "règles", "regles", "sécurité", "securite", "serveur", "serveurs",
            "utilisateur", "utilisateurs",
        ],
        shared: &[
            "affiche", "au", "aux", "ce", "de", "donne", "donner", "du", "elle", "en", "est", "et", "facture",
            "ferme", "font", "il", "ils", "je", "la", "lance", "le", "les", "liste", "lister", "lui", "mes", "moi",
            "mon", "ne", "nos", "nous", "par", "pas", "pour", "que", "qui", "sa", "sans", "se", "ses", "si", "sur",
            "tout", "un", "y",
        ],
    },
    LanguageWords {
        name: "Italian",
        own: &[
            "abbiamo", "alle", "anche", "dalla", "degli", "delle", "gli", "hanno", "nei", "nella", "nostri", "nostro",
            "ogni", "perché", "perche", "più", "può", "posso", "quali", "quando", "quanti", "quante", "quanto",
            "questa", "questi", "questo", "senza", "sono", "sugli", "vorrei", "apri", "avvia", "avviare", "blocca",
            "cancella", "cancellare", "cerca", "cercare", "chiudi", "crea", "elenca", "elencare", "elenco", "elimina",
            "eliminare", "ferma", "fermare", "modifica", "mostra", "mostrami", "mostrare", "riavvia", "riavviare",
            "sblocca", "spegni", "spiega", "trova", "trovare", "verifica", "visualizza", "aperti", "aperte",
            "certificati", "clienti", "fatture", "gruppi", "ordini", "pubblici", "pubbliche", "regole", "sicurezza",
            "utente", "utenti",
        ],
        shared: &[
            "ai", "alla", "che", "chi", "ci", "con", "cosa", "da", "dal", "dei", "del", "della", "di", "dove", "e",
            "ha", "il", "io", "la", "le", "lo", "mi", "nel", "non", "nostra", "per", "quale", "se", "si", "su", "sul",
            "tutte", "tutti", "tutto", "un", "una", "uno", "è",
        ],
    },
    LanguageWords {
        name: "Portuguese",
        own: &[
            "essa", "estão", "estao", "meu", "minha", "nossa", "nossas", "nosso", "nossos", "não", "nao", "onde",
            "pela", "pelas", "pelo", "pelos", "porque", "pode", "quais", "quando", "quantas", "quantos", "quanto",
            "quem", "são", "seu", "sua", "também", "temos", "todas", "todos", "você", "voce", "abra", "apague",
            "apagar", "bloqueie", "buscar", "cancele", "crie", "desligue", "encontre", "encontrar", "exclua", "exiba",
            "exibir", "explique", "feche", "ligue", "listar", "mostre", "mostrar", "procurar", "reinicie",
            "reiniciar", "remova", "verifique", "abertas", "abertos", "certificados", "clientes", "contas", "faturas",
            "grupos", "instâncias", "pedidos", "públicos", "regras", "segurança", "servidor", "servidores", "usuário",
            "usuários", "usuario", "usuarios",
        ],
        shared: &[
            "ao", "aos", "com", "como", "da", "das", "de", "dos", "e", "ela", "ele", "em", "esse", "esta", "este",
            "eu", "foi", "há", "isso", "já", "lista", "liste", "mais", "mas", "na", "nas", "nos", "o", "ou", "para",
            "pare", "por", "procure", "qual", "que", "se", "sem", "tem", "um", "uma", "é",
        ],
    },
    LanguageWords {
        name: "Dutch",
        own: &[
            "aan", "alle", "bij", "deze", "een", "geen", "graag", "hebben", "heeft", "het", "hij", "hoeveel", "jij",
            "jullie", "kunnen", "meer", "mijn", "naar", "niet", "onze", "ook", "uit", "voor", "waar", "waarom",
            "wanneer", "welke", "wij", "worden", "zijn", "zonder", "geef", "herstart", "herstarten", "laat", "maak",
            "opnieuw", "verwijder", "verwijderen", "wijzig", "zoek", "zoeken", "blokkeer", "bestellingen",
            "certificaten", "draaien", "facturen", "gebruiker", "gebruikers", "klanten", "openbare", "rekening",
            "rekeningen", "verlopen",
        ],
        shared: &[
            "als", "dat", "de", "dit", "en", "heb", "hier", "hoe", "ik", "je", "kan", "lijst", "maar", "met", "mij",
            "moet", "nog", "nu", "om", "ons", "op", "te", "toon", "van", "vind", "wat", "wie",
        ],
    },
    LanguageWords {
        name: "Polish",
        own: &[
            "bez", "być", "czy", "dla", "gdzie", "ile", "jak", "jaki", "jakie", "już", "kiedy", "które", "który",
            "kto", "mamy", "mnie", "nasze", "nie", "proszę", "przez", "się", "tylko", "wszystkie", "otwórz", "pokaż",
            "pokaz", "sprawdź", "uruchom", "usuń", "wyłącz", "wyświetl", "zamknij", "zatrzymaj", "znajdź", "faktury",
            "klienci", "serwer", "serwery", "użytkownicy", "zamówienia",
        ],
        shared: &[
            "jest", "na", "o", "od", "po", "są", "w", "z", "za", "że",
        ],
    },
];

/// English function words, without those that other languages share (a, do, in, is, on).
#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "about", "after", "also", "and", "any", "anyone", "anything", "are", "at", "be", "been", "before", "but", "by",
    "can", "could", "did", "does", "every", "find", "for", "from", "get", "give", "had", "has", "have", "he", "her",
    "his", "how", "i", "if", "it", "its", "just", "let", "list", "me", "my", "not", "of", "only", "or", "our",
    "please", "she", "should", "show", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "us", "what", "when", "where", "whether", "which", "who", "whose", "why", "will",
    "with", "without", "would", "you", "your", "all",
];

/// Scripts of languages other than English, by the ranges of their letters.
#[rustfmt::skip]
const SCRIPTS: &[(&str, &[(u32, u32)])] = &[
    ("Japanese", &[(0x3040, 0x30ff)]), ("Chinese", &[(0x3400, 0x9fff), (0x20000, 0x2fa1f)]),
    ("Korean", &[(0x1100, 0x11ff), (0xac00, 0xd7af)]),
    ("Russian or another language in Cyrillic letters", &[(0x0400, 0x052f)]), ("Greek", &[(0x0370, 0x03ff)]),
    ("Arabic or another language in Arabic letters", &[(0x0600, 0x06ff)]), ("Hebrew", &[(0x0590, 0x05ff)]),
    ("Hindi or another language in Devanagari letters", &[(0x0900, 0x097f)]), ("Thai", &[(0x0e00, 0x0e7f)]),
];

/// Returns the names of the languages that can be distinguished from English.
pub fn languages() -> impl Iterator<Item = &'static str> {
    let by_words = LANGUAGES.iter().map(|language| language.name);
    by_words.chain(SCRIPTS.iter().map(|(name, _)| *name))
}

/// Returns the language of a text with these tokens.
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
    // A Japanese text has Chinese characters too; a single kana identifies it.
    counts.first().map(|(name, _)| Language::Other(name))
}

/// The number of words that a text shares with a language.
struct WordCounts {
    name: &'static str,
    own: usize,
    shared: usize,
}

impl WordCounts {
    fn weight(&self) -> usize {
        WEIGHT_OF_OWN * self.own + self.shared
    }
}

fn by_words(text: &str, tokens: &[Token]) -> Option<Language> {
    let words: Vec<&Token> = tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Word)
        .collect();
    let shouts = !text.contains(char::is_lowercase);
    let written = |token: &Token| &text[token.place.clone()];
    // `TODO` and `ISSO` are abbreviations, a later `La` begins a name.
    let is_abbreviation = |token: &Token| !shouts && !written(token).contains(char::is_lowercase);
    let is_name = |at: usize, token: &Token| !shouts && at > 0 && token.capital;
    let counts = LANGUAGES.iter().map(|language| {
        let has_own = |token: &&&Token| token.is_any(language.own) && !is_abbreviation(token);
        let has_shared = |(at, token): &(usize, &&Token)| {
            token.is_any(language.shared) && !is_abbreviation(token) && !is_name(*at, token)
        };
        WordCounts {
            name: language.name,
            own: words.iter().filter(has_own).count(),
            shared: words.iter().enumerate().filter(has_shared).count(),
        }
    });
    // If several languages have equally many words, the first one wins.
    let best = counts.rev().max_by_key(WordCounts::weight)?;
    // Spelling that does not occur in English has the weight of a shared word.
    let has_marks = text.contains(['¿', '¡']);
    let has_letters = text.contains(['ä', 'ö', 'ü', 'ß', 'ñ', 'ç', 'ã', 'õ', 'ł', 'ę', 'ą']);
    let spelled = usize::from(has_marks) + usize::from(has_letters);
    if best.weight() == 0 {
        return has_marks.then_some(Language::Other("Spanish"));
    }
    let english = words.iter().filter(|word| word.is_any(ENGLISH)).count();
    let by_shared = best.shared >= LEAST_SHARED && best.shared * SHARED_IN >= words.len();
    let enough = best.own > 0 || by_shared || best.shared > 0 && spelled > 0;
    (enough && best.weight() + spelled > english).then_some(Language::Other(best.name))
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

    /// Commands and noun phrases have few function words or none.
    #[test]
    fn short_commands_in_other_languages_are_not_english() {
        for (text, name) in [
            ("Starte web-01", "German"),
            ("Restarte web-01", "German"),
            ("Open Security Groups finden", "German"),
            ("Hosts in eu-west-1 anzeigen", "German"),
            ("Public Buckets anzeigen", "German"),
            ("Welche Zertifikate laufen bald ab?", "German"),
            ("Restart bitte web-01", "German"),
            ("Liste des serveurs", "French"),
            ("Redémarre web-01", "French"),
            ("Buckets públicos", "Spanish"),
            ("Remediar public exposure eu-west-1 profile ops", "Spanish"),
            ("cuantos hosts estan parados", "Spanish"),
            ("Mostra i server in eu-west-1", "Italian"),
            ("Reinicie web-01", "Portuguese"),
            ("start web-01 opnieuw", "Dutch"),
            ("Pokaż hosty", "Polish"),
        ] {
            assert_eq!(of(text), Language::Other(name), "{text}");
        }
    }

    #[test]
    fn words_of_one_language_alone_are_no_words_of_english_requests() {
        use super::super::words::{EMPTY_WORDS, OPENERS, verb_class};
        for word in LANGUAGES.iter().flat_map(|language| language.own) {
            let is_english = ENGLISH.contains(word)
                || EMPTY_WORDS.contains(word)
                || OPENERS.contains(word)
                || verb_class(word).is_some();
            assert!(!is_english, "{word}");
        }
        for language in LANGUAGES {
            let both = |word: &&&str| language.shared.contains(*word);
            assert_eq!(language.own.iter().find(both), None, "{}", language.name);
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
            "TODO: restart web-01",
            "todo: restart web-01",
            "restart web-01 # just a comment",
            "ISSO and FOI requests of 2024",
            "hosts in La Jolla and El Paso",
            "la liga results",
        ] {
            assert_eq!(of(text), Language::English, "{text}");
        }
    }
}
