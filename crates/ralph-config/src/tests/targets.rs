//! Which definition is meant.

use super::*;

#[test]
fn targets_and_names() {
    let md = "---\nagent: a\n---\nDo it";
    let files = [
        ("fix/RALPH.md", md),
        ("fix/ralph.yml", "agent: b\nprompt: x\n"),
        ("only/ralph.yml", "agent: c\nprompt: x\n"),
        ("my.yaml", "agent: d\nprompt: x\n"),
        ("RALPH.md", md),
        (".agents/ralphs/docs/RALPH.md", md),
        ("docs/notes.txt", "x"),
    ];
    for (target, file, name) in [
        (Some("fix"), "fix/RALPH.md", "fix"),
        (Some("fix/"), "fix/RALPH.md", "fix"),
        (Some("fix/RALPH.md"), "fix/RALPH.md", "fix"),
        (Some("fix/ralph.yml"), "fix/ralph.yml", "fix"),
        (Some("only"), "only/ralph.yml", "only"),
        (Some("my.yaml"), "my.yaml", "my"),
        (Some("."), "RALPH.md", "ws"),
        (Some("docs"), ".agents/ralphs/docs/RALPH.md", "docs"),
        (None, "RALPH.md", "ws"),
    ] {
        let mut workspace = Workspace::new(&files);
        workspace.sources.target = target.map(str::to_owned);
        let loaded = workspace.ok();
        assert_eq!(loaded.file.unwrap(), workspace.path(file), "{target:?}");
        assert_eq!(loaded.name, name, "{target:?}");
    }
}

#[test]
fn the_workspace_goes_before_home_for_installed_ralphs() {
    let md = "---\nagent: a\n---\nDo it";
    let workspace = Workspace::new(&[(".agents/ralphs/both/RALPH.md", md)]).user_config("").target("both");
    let home = workspace.dir.path().join("home/.agents/ralphs");
    for name in ["both", "away"] {
        std::fs::create_dir_all(home.join(name)).unwrap();
        std::fs::write(home.join(name).join("RALPH.md"), md).unwrap();
    }
    assert_eq!(workspace.ok().file.unwrap(), workspace.path(".agents/ralphs/both/RALPH.md"));
    assert_eq!(workspace.target("away").ok().file.unwrap(), home.join("away/RALPH.md"));
}

#[test]
fn without_target_a_yml_goes_before_a_ralph_md_and_a_prompt_takes_only_settings() {
    let files = [("ralph.yml", "agent: yml\nprompt: x\n"), ("RALPH.md", "---\nagent: md\n---\nDo it")];
    assert_eq!(Workspace::new(&files).ok().agent.program, "yml");
    let prompt = |files| Workspace::new(files).flags(|flags| flags.prompt = Some("mine".to_owned()));
    let loaded = prompt(&files[..1]).ok();
    assert_eq!((loaded.agent.program.as_str(), loaded.task), ("yml", Task::Text("mine".to_owned())));
    // A RALPH.md is a task of its own: not used for another.
    assert!(prompt(&files[1..]).err().contains("there is no agent"));
    let loaded = prompt(&[]).flags(|flags| flags.agent = Some("a".to_owned())).ok();
    assert_eq!((loaded.name.as_str(), loaded.file), ("ws", None));
}
