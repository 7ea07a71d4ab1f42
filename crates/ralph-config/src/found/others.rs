//! Ecosystems with one way to do it.

use ralph_core::check::Kind;

use super::{Folder, Found};

pub(super) fn rust(folder: &Folder) -> Vec<Found> {
    if !folder.has("Cargo.toml") {
        return Vec::new();
    }
    let is_workspace = folder.text("Cargo.toml").lines().any(|line| line.trim() == "[workspace]");
    let run = if is_workspace { "cargo test --workspace" } else { "cargo test" };
    let mut found = vec![Found::new("cargo", Kind::Test, run, "Cargo.toml")];
    if let Some(config) = folder.first(&["clippy.toml", ".clippy.toml"]) {
        found.push(Found::new("cargo", Kind::Lint, "cargo clippy --all-targets -- -D warnings", config));
    }
    found
}

pub(super) fn go(folder: &Folder) -> Vec<Found> {
    if !folder.has("go.mod") {
        return Vec::new();
    }
    let mut found = vec![Found::new("go", Kind::Test, "go test ./...", "go.mod")];
    if let Some(config) =
        folder.first(&[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"])
    {
        found.push(Found::new("go", Kind::Lint, "golangci-lint run", config));
    }
    found
}

pub(super) fn java(folder: &Folder) -> Option<Found> {
    if folder.has("pom.xml") {
        let run = if folder.has("mvnw") { "./mvnw -q -B test" } else { "mvn -q -B test" };
        return Some(Found::new("maven", Kind::Test, run, "pom.xml"));
    }
    let build = folder.first(&["build.gradle", "build.gradle.kts"])?;
    let run = if folder.has("gradlew") { "./gradlew test" } else { "gradle test" };
    Some(Found::new("gradle", Kind::Test, run, build))
}

pub(super) fn ruby(folder: &Folder) -> Vec<Found> {
    let gemfile = folder.text("Gemfile");
    let bundle = if folder.has("Gemfile") { "bundle exec " } else { "" };
    let mut found = Vec::new();
    let has_specs = folder.files.iter().any(|path| path.starts_with("spec/"));
    if has_specs && (gemfile.contains("rspec") || folder.has(".rspec")) {
        let from = if gemfile.contains("rspec") { "Gemfile: rspec" } else { ".rspec" };
        found.push(Found::new("ruby", Kind::Test, &format!("{bundle}rspec"), from));
    } else if ["TestTask", "task :test", "task test:"]
        .iter()
        .any(|text| folder.text("Rakefile").contains(text))
    {
        found.push(Found::new("ruby", Kind::Test, &format!("{bundle}rake test"), "Rakefile"));
    }
    if folder.has(".rubocop.yml") {
        found.push(Found::new("ruby", Kind::Lint, &format!("{bundle}rubocop"), ".rubocop.yml"));
    }
    found
}

pub(super) fn elixir(folder: &Folder) -> Option<Found> {
    folder.has("mix.exs").then(|| Found::new("mix", Kind::Test, "mix test", "mix.exs"))
}
