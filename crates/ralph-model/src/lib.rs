//! What others may know of a run and ask of it: snapshot, rows, requests, rights. No I/O.
