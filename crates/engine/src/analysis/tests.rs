//! Analyses by scripted models.
