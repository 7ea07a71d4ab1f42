//! The functions and files that may be longer than the rest.

/// File, function (`name`, `Type::name`, or empty for the file as a whole), the lines it may have, and why.
pub type Exception = (&'static str, &'static str, usize, &'static str);

/// One that is no longer needed is a violation.
pub const EXCEPTIONS: &[Exception] = &[];

/// Where this list is, for messages about it.
pub const HERE: &str = "xtask/src/tidy/exceptions.rs";
