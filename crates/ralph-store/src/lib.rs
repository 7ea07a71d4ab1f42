//! Runs on disk: find, list, read, follow, artefacts. No engine.
