//! What a sandbox enforces here.

use ralph_core::plan::Contain;
use ralph_runtime::trial;

use super::Finding;

pub fn check() -> Finding {
    let folder = std::env::temp_dir().join(format!("ralph-doctor-{}", std::process::id()));
    let tried = trial::sandbox(Contain::Auto, &folder);
    // What is left there harms nobody.
    let _ = std::fs::remove_dir_all(&folder);
    match tried {
        Err(error) => Finding::bad(format!("cannot be tried: {error}")),
        Ok((0, _)) => Finding::weak("this kernel has no Landlock, so `sandbox` cannot be switched on"),
        Ok((version, wrong)) if wrong.is_empty() => {
            let found = Finding::good(format!(
                "Landlock {version}: a confined program wrote where it may, and read and wrote nothing else"
            ));
            match version {
                ..6 => found
                    .and("signals to processes outside are held back only in a pid namespace (Linux 6.12)"),
                _ => found,
            }
        }
        Ok((_, wrong)) => Finding::bad(format!("a confined program is not: {}", wrong.join("; "))),
    }
}
