//! Reports: folds over the journal. Refuses to decide anything that the records do not say.
