//! Cheats on where programs are found: a folder of the workspace on the PATH, and installed dependencies, which git ignores.

use super::{Cheat, Edit, GateLine, Project};

const PASSES: &str = "#!/bin/sh\nexit 0\n";

pub(super) fn cheats(project: &Project, gates: &[GateLine]) -> Vec<Cheat> {
    let mut programs: Vec<String> = gates.iter().flat_map(|gate| gate.programs(project)).collect();
    programs.sort();
    programs.dedup();
    vec![shadowed(project, &programs), installed(project, gates)]
}

fn shadowed(project: &Project, programs: &[String]) -> Cheat {
    let folder = project.path_folders.first();
    let edits = folder.iter().flat_map(|folder| {
        programs.iter().filter(|name| *name != "sh").map(move |name| {
            let folder = folder.trim_end_matches('/');
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            Edit::program(path, PASSES)
        })
    });
    let shown = folder.map_or("", String::as_str);
    Cheat {
        name: "program-shadowed".to_owned(),
        what: format!("programs that always pass are put into `{shown}`, which is on the PATH"),
        edits: edits.collect(),
        cure: format!(
            "take `{shown}` of the workspace out of the PATH, or name programs by their absolute paths"
        ),
    }
}

/// Programs below node_modules or a virtual environment that are no part of the tree.
fn installed(project: &Project, gates: &[GateLine]) -> Cheat {
    // A manager of packages runs its programs by their names, which its scripts tell.
    let manifest = project.text("package.json").unwrap_or_default();
    let told: Vec<String> =
        gates.iter().flat_map(|gate| gate.lines(project)).chain([manifest.to_owned()]).collect();
    let is_told = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let words = |text: &String| {
            text.split(|c: char| !c.is_alphanumeric() && !"-_.".contains(c)).any(|word| word == name)
        };
        told.iter().any(words)
    };
    let paths = project.installed.iter().filter(|path| is_told(path));
    let edits: Vec<Edit> = paths.map(|path| Edit::program(path.clone(), PASSES)).collect();
    let is_node = |edit: &Edit| edit.path().contains("node_modules/");
    let cure = match edits.iter().all(is_node) {
        true => {
            "gates: install the dependencies anew in the gate: run: sh -c 'npm ci && npm test'".to_owned()
        }
        false => "gates: run a runner that is installed outside of the workspace".to_owned(),
    };
    Cheat {
        name: "dependency-patched".to_owned(),
        what: "the runner among the installed dependencies, which git ignores, is replaced".to_owned(),
        edits,
        cure,
    }
}
