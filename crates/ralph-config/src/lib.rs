//! From definition files to a plan: settings, checks before the start, schema.
