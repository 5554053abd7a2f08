//! Complaints about suites, ids and filters.

/// What is wrong with a suite, a case id, a filter or a shard. Always found before anything runs (exit code 2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// Something in a suite file.
    #[error("{file}:{line}: {message}")]
    At {
        /// File as the user named it; embedded suites are `suites/NAME.toml`.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and the nearest valid word.
        message: String,
    },
    /// A suite file that cannot be read.
    #[error("cannot read suite {file}: {why}")]
    Unreadable {
        /// File.
        file: String,
        /// The system's reason.
        why: String,
    },
    /// A `--suite` that is neither a file nor an embedded suite.
    #[error("no suite file and no embedded suite '{name}'; embedded are: {known}{hint}")]
    NoSuite {
        /// What was asked for.
        name: String,
        /// The embedded names.
        known: String,
        /// Nearest name, as a sentence; may be empty.
        hint: String,
    },
    /// A case id that names no possible case.
    #[error("case id '{id}': {message}")]
    BadId {
        /// The id.
        id: String,
        /// What is wrong with it.
        message: String,
    },
    /// A filter that is malformed or matches no case.
    #[error("filter '{filter}': {message}")]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong with it.
        message: String,
    },
    /// Filters that each match something but leave no case together.
    #[error("no case meets all of the filters: {0}")]
    NoneLeft(String),
    /// A malformed shard.
    #[error("shard '{0}': write i/n with 1 <= i <= n, for example --shard 2/8")]
    Shard(String),
    /// No suite plans any case.
    #[error("no suite plans any case")]
    Empty,
}

/// `; did you mean 'x'?` with the valid words nearest to `word`, or the list of all words when it is short and none is near.
pub(super) fn hint<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    let valid: Vec<&str> = valid.into_iter().collect();
    let near = nearest(word, valid.iter().copied());
    if !near.is_empty() {
        let quoted: Vec<String> = near.iter().map(|w| format!("'{w}'")).collect();
        return format!("; did you mean {}?", quoted.join(" or "));
    }
    if !valid.is_empty() && valid.len() <= 24 {
        return format!("; valid are: {}", valid.join(", "));
    }
    String::new()
}

/// Up to three of `valid` that resemble `word`, nearest first.
pub(crate) fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    let mut scored: Vec<(f64, &str)> = valid
        .into_iter()
        .map(|v| (strsim::jaro_winkler(&lower, &v.to_lowercase()), v))
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    let best = scored.first().map_or(0.0, |s| s.0);
    scored.into_iter().filter(|s| s.0 >= best - 0.06).take(3).map(|s| s.1).collect()
}
