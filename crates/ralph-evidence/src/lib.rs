//! From text and changes to facts: detectors, sketches, recognised commands. No I/O.
