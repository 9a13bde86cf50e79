//! Evaluates routing on labelled queries from the command line.
//!
//! `route_eval CATALOGUE QUERIES [--out-of-scope FILE] [--model DIR] [--examples N] [--candidates]` prints the report
//! as JSON; with `--calibrate [--set DIR]…` it prints the settings fitted to this set and those folders. Must measure
//! only with the library's code.

use std::collections::{BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use async_trait::async_trait;
use charter_embed::{MiniLm, MiniLmOptions};
use charter_search::embed::{EmbedError, Embedder, EmbeddingModel, Vector};
use charter_search::eval::{EvalOptions, EvalSet, Offer, Trial};
use charter_search::{CalibrationSet, RouteSettings, calibrate};
use clap::Parser;
use sha2::{Digest, Sha256};

/// Evaluates routing on labelled queries.
#[derive(Parser)]
struct Arguments {
    /// Entries, JSON lines, plain or gzipped.
    catalogue: PathBuf,
    /// Labelled queries, JSON lines.
    queries: PathBuf,
    /// Queries without an answer, JSON lines.
    #[arg(long)]
    out_of_scope: Option<PathBuf>,
    /// Directory of the embedding model; words alone without it.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Examples for each entry.
    #[arg(long)]
    examples: Option<usize>,
    /// Rank each query against its own candidates.
    #[arg(long)]
    candidates: bool,
    /// Only queries of these parts.
    #[arg(long, value_delimiter = ',')]
    parts: Vec<String>,
    /// Settings as JSON.
    #[arg(long)]
    settings: Option<PathBuf>,
    /// Fit settings to the set and print them instead of a report.
    #[arg(long)]
    calibrate: bool,
    /// Fit to the set in this folder as well (catalogue.jsonl, queries.jsonl, no_match.jsonl, plain or .gz).
    #[arg(long = "set", value_name = "DIR", requires = "calibrate")]
    sets: Vec<PathBuf>,
    /// Write the observations of each search to this file, JSON lines.
    #[arg(long)]
    observations: Option<PathBuf>,
    /// Keep vectors in this file between runs.
    #[arg(long)]
    cache: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut set = EvalSet::read(
        &arguments.catalogue,
        &arguments.queries,
        arguments.out_of_scope.as_deref(),
    )?;
    if !arguments.parts.is_empty() {
        let wanted: BTreeSet<&String> = arguments.parts.iter().collect();
        set.queries.retain(|query| {
            query
                .part
                .as_ref()
                .is_some_and(|part| wanted.contains(part))
        });
    }
    let settings = match &arguments.settings {
        Some(path) => serde_json::from_slice(&std::fs::read(path)?).context("the settings file")?,
        None => RouteSettings::default(),
    };
    let options = EvalOptions {
        examples: arguments.examples,
        offer: if arguments.candidates {
            Offer::Candidates
        } else {
            Offer::Catalogue
        },
        ..EvalOptions::default()
    };
    let embedder = match &arguments.model {
        Some(directory) => Some(Cached::open(directory, arguments.cache.as_deref())?),
        None => None,
    };
    let port = embedder.as_ref().map(|embedder| embedder as &dyn Embedder);
    let trial = Trial::prepare(set, port, &options).await?;
    if let Some(path) = &arguments.observations {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        for observation in trial.observations(&settings)? {
            serde_json::to_writer(&mut file, &observation)?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
    }
    let answer = if arguments.calibrate {
        let mut trials = vec![(arguments.queries.display().to_string(), trial)];
        for folder in &arguments.sets {
            let set = EvalSet::read_folder(folder)?;
            let trial = Trial::prepare(set, port, &options).await?;
            trials.push((folder.display().to_string(), trial));
        }
        let sets: Vec<CalibrationSet<'_>> = trials
            .iter()
            .map(|(name, trial)| CalibrationSet { name, trial })
            .collect();
        serde_json::to_string_pretty(&calibrate(&sets, &settings)?)?
    } else {
        serde_json::to_string_pretty(&trial.evaluate(&settings)?)?
    };
    println!("{answer}");
    Ok(())
}

/// The model, with a cache of vectors by content in a file of (digest, vector) records.
struct Cached {
    model: MiniLm,
    file: Option<PathBuf>,
    known: Mutex<HashMap<[u8; 32], Vector>>,
}

impl Cached {
    fn open(directory: &Path, file: Option<&Path>) -> Result<Self> {
        let model = MiniLm::load(directory, &MiniLmOptions::default())?;
        let record = 32 + 4 * model.model().dims;
        let mut known = HashMap::new();
        let stored = match file {
            Some(path) if path.exists() => std::fs::read(path)?,
            _ => Vec::new(),
        };
        for bytes in stored.chunks_exact(record) {
            let (digest, vector) = bytes.split_at(32);
            known.insert(digest.try_into()?, Vector::from_bytes(vector)?);
        }
        Ok(Cached {
            model,
            file: file.map(Path::to_owned),
            known: Mutex::new(known),
        })
    }

    fn lookup(&self, digest: &[u8; 32]) -> Option<Vector> {
        let known = self
            .known
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        known.get(digest).cloned()
    }

    fn store(&self, digests: &[[u8; 32]], vectors: &[Vector]) -> std::io::Result<()> {
        let mut known = self
            .known
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        known.extend(digests.iter().copied().zip(vectors.iter().cloned()));
        let Some(path) = &self.file else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        for (digest, vector) in digests.iter().zip(vectors) {
            bytes.extend_from_slice(digest);
            bytes.extend(vector.to_bytes());
        }
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?
            .write_all(&bytes)
    }
}

#[async_trait]
impl Embedder for Cached {
    fn model(&self) -> &EmbeddingModel {
        self.model.model()
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        let digests: Vec<[u8; 32]> = texts
            .iter()
            .map(|text| Sha256::digest(text).into())
            .collect();
        let lacking: Vec<usize> = (0..texts.len())
            .filter(|at| self.lookup(&digests[*at]).is_none())
            .collect();
        if !lacking.is_empty() {
            eprintln!("embedding {} texts", lacking.len());
            let new = lacking.iter().map(|at| texts[*at].clone()).collect();
            let vectors = self.model.embed(new).await?;
            let new: Vec<[u8; 32]> = lacking.iter().map(|at| digests[*at]).collect();
            if let Err(error) = self.store(&new, &vectors) {
                eprintln!("the vectors could not be kept: {error}");
            }
        }
        Ok(digests
            .iter()
            .filter_map(|digest| self.lookup(digest))
            .collect())
    }

    fn count_tokens(&self, text: &str) -> Option<usize> {
        self.model.count_tokens(text)
    }

    fn knows_word(&self, word: &str) -> Option<bool> {
        self.model.knows_word(word)
    }

    fn words_near(&self, word: &str) -> Vec<String> {
        self.model.words_near(word)
    }

    fn token_spans(&self, text: &str) -> Option<Vec<std::ops::Range<usize>>> {
        self.model.token_spans(text)
    }
}
