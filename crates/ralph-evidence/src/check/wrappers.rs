//! Programs that run another one: `time`, `timeout 60`, `uv run`, `docker compose exec web`, `bash -lc '…'`.

/// What a command comes to when what is wrapped around it is taken off.
pub(super) enum Inner {
    /// The words of the program that is really run.
    Words(Vec<String>),
    /// A text that a shell runs, with the options of that shell.
    Script { text: String, errexit: bool, pipefail: bool },
    /// Nothing that ends by itself, or nothing that is run.
    Nothing,
}

struct Wrapper {
    name: &'static str,
    /// The words one of which has to follow; none: the program is the wrapper.
    sub: &'static [&'static str],
    /// Options that take the next word.
    values: &'static [&'static str],
    /// Words of its own before the command.
    skip: usize,
}

const fn plain(name: &'static str, values: &'static [&'static str], skip: usize) -> Wrapper {
    Wrapper { name, sub: &[], values, skip }
}

const fn sub(name: &'static str, sub: &'static [&'static str], values: &'static [&'static str]) -> Wrapper {
    Wrapper { name, sub, values, skip: 0 }
}

const PYTHON_RUN: &[&str] = &[
    "--with",
    "--python",
    "-p",
    "--extra",
    "--group",
    "--only-group",
    "--directory",
    "-C",
    "--project",
    "--env-file",
    "--package",
    "--with-requirements",
    "--from",
    "-P",
    "-e",
    "-n",
    "--name",
    "--spec",
];
const PACKAGE_RUN: &[&str] =
    &["-p", "--package", "--filter", "-F", "-C", "--dir", "--cwd", "--prefix", "-w", "--workspace"];
const CONTAINER: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "-v",
    "--volume",
    "--name",
    "-p",
    "--publish",
    "--network",
    "--entrypoint",
    "-f",
    "--file",
    "--mount",
    "--platform",
    "--index",
    "--project-name",
    "--profile",
];

const WRAPPERS: &[Wrapper] = &[
    plain("time", &["-f", "-o", "--format", "--output"], 0),
    plain("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    plain("gtimeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    plain("nice", &["-n", "--adjustment"], 0),
    plain("ionice", &["-c", "-n"], 0),
    plain("sudo", &["-u", "-g", "-C", "-h", "-p", "-U", "-D"], 0),
    plain("doas", &["-u", "-C"], 0),
    plain("nohup", &[], 0),
    plain("setsid", &[], 0),
    plain("stdbuf", &["-i", "-o", "-e"], 0),
    plain("unbuffer", &[], 0),
    plain("command", &[], 0),
    plain("builtin", &[], 0),
    plain("exec", &["-a"], 0),
    plain("chronic", &[], 0),
    plain("caffeinate", &["-t", "-w"], 0),
    plain("xvfb-run", &["-n", "-s", "-f", "-e", "-p", "-w"], 0),
    plain("dbus-run-session", &[], 0),
    plain("cross-env", &[], 0),
    plain("dotenv", &["-e", "-f", "-c", "-v"], 0),
    plain("env-cmd", &["-f", "-e"], 0),
    plain("flock", &["-w", "-E"], 1),
    plain("strace", &["-o", "-e", "-p", "-s", "-u"], 0),
    plain("valgrind", &[], 0),
    plain("faketime", &["-f"], 1),
    plain("c8", &["-r", "--reporter", "-o", "-x", "-n"], 0),
    plain("nyc", &["-r", "--reporter", "-x", "-n"], 0),
    plain("xargs", &["-n", "-I", "-P", "-L", "-d", "-s", "-a", "-E"], 0),
    plain("npx", PACKAGE_RUN, 0),
    plain("bunx", PACKAGE_RUN, 0),
    plain("pnpx", PACKAGE_RUN, 0),
    plain("uvx", PYTHON_RUN, 0),
    sub("npm", &["exec", "x"], PACKAGE_RUN),
    sub("pnpm", &["exec", "dlx"], PACKAGE_RUN),
    sub("yarn", &["exec", "dlx"], PACKAGE_RUN),
    sub("bun", &["x"], PACKAGE_RUN),
    sub("uv", &["run"], PYTHON_RUN),
    sub("poetry", &["run"], PYTHON_RUN),
    sub("pdm", &["run"], PYTHON_RUN),
    sub("pipenv", &["run"], PYTHON_RUN),
    sub("rye", &["run"], PYTHON_RUN),
    sub("hatch", &["run"], PYTHON_RUN),
    sub("pixi", &["run"], PYTHON_RUN),
    sub("pipx", &["run"], PYTHON_RUN),
    sub("conda", &["run"], PYTHON_RUN),
    sub("mamba", &["run"], PYTHON_RUN),
    sub("micromamba", &["run"], PYTHON_RUN),
    sub("bundle", &["exec"], &["--gemfile"]),
    sub("mise", &["exec", "x"], &["-C", "--cd"]),
    sub("asdf", &["exec"], &[]),
    sub("rbenv", &["exec"], &[]),
    sub("pyenv", &["exec"], &[]),
    sub("opam", &["exec"], &["--switch"]),
    sub("stack", &["exec"], &[]),
    sub("cabal", &["exec"], &[]),
    sub("op", &["run"], &["--env-file", "--account"]),
    sub("doppler", &["run"], &["-p", "-c", "--project", "--config"]),
    sub("dotenvx", &["run"], &["-f", "-e", "--env-file"]),
    sub("devbox", &["run"], &["-c"]),
    sub("ddev", &["exec"], &["-d", "-s"]),
    Wrapper { name: "rustup", sub: &["run"], values: &[], skip: 1 },
    Wrapper { name: "direnv", sub: &["exec"], values: &[], skip: 1 },
    Wrapper { name: "aws-vault", sub: &["exec"], values: &[], skip: 1 },
    Wrapper { name: "docker", sub: &["exec", "run"], values: CONTAINER, skip: 1 },
    Wrapper { name: "podman", sub: &["exec", "run"], values: CONTAINER, skip: 1 },
    Wrapper { name: "docker-compose", sub: &["exec", "run"], values: CONTAINER, skip: 1 },
];

const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh", "ash", "fish"];
/// They go on until somebody ends them.
const ENDLESS: &[&str] = &["watch", "watchexec", "entr", "nodemon", "reflex", "chokidar"];

/// Whether the program of this name runs scripts of a shell.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Takes one wrapper off. `None`: the first word is no wrapper.
pub(super) fn unwrap(words: &[String]) -> Option<Inner> {
    let words = without_assignments(words);
    let (program, rest) = words.split_first()?;
    let name = base_name(program);
    if ENDLESS.contains(&name) {
        return Some(Inner::Nothing);
    }
    if SHELLS.contains(&name) {
        return shell(rest);
    }
    match name {
        "env" => return Some(env(rest)),
        // It only says where the program is.
        "command" if rest.first().is_some_and(|word| word == "-v" || word == "-V") => {
            return Some(Inner::Nothing);
        }
        "eval" => return Some(script(rest.join(" "))),
        "cmd" if rest.first().is_some_and(|word| word.eq_ignore_ascii_case("/c")) => {
            return Some(script(rest[1..].join(" ")));
        }
        "pwsh" | "powershell" => {
            let at =
                rest.iter().position(|word| ["-c", "-command"].contains(&&*word.to_ascii_lowercase()))?;
            return Some(script(rest[at + 1..].join(" ")));
        }
        "nix-shell" => return after_flag(rest, &["--run", "--command"]).map(|rest| script(rest.join(" "))),
        "nix" => return after_flag(rest, &["-c", "--command"]).map(|rest| Inner::Words(rest.to_vec())),
        "npx" | "bunx" if rest.iter().any(|word| word == "-c" || word == "--call") => {
            return after_flag(rest, &["-c", "--call"])
                .map(|rest| script(rest[..1.min(rest.len())].join(" ")));
        }
        "kubectl" => return after_flag(rest, &["--"]).map(|rest| Inner::Words(rest.to_vec())),
        _ => {}
    }
    // `docker compose exec` is `docker-compose exec`.
    if matches!(name, "docker" | "podman") && rest.first().is_some_and(|word| word == "compose") {
        let compose = WRAPPERS.iter().find(|wrapper| wrapper.name == "docker-compose")?;
        return compose.inner(&rest[1..]);
    }
    WRAPPERS.iter().filter(|wrapper| wrapper.name == name).find_map(|wrapper| wrapper.inner(rest))
}

impl Wrapper {
    fn inner(&self, rest: &[String]) -> Option<Inner> {
        let mut at = self.options(rest, 0)?;
        if !self.sub.is_empty() {
            rest.get(at).filter(|word| self.sub.contains(&word.as_str()))?;
            at = self.options(rest, at + 1)?;
        }
        for _ in 0..self.skip {
            at = self.options(rest, at + 1)?;
        }
        let inner = rest.get(at..).unwrap_or_default();
        Some(Inner::Words(module(inner, rest.get(..at).unwrap_or_default())))
    }

    /// Where the options that begin here end.
    fn options(&self, rest: &[String], mut at: usize) -> Option<usize> {
        while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
            if word == "--" {
                return Some(at + 1);
            }
            // `uv run -m pytest`: what follows is the command.
            if word == "-m" || word == "--module" {
                return Some(at + 1);
            }
            at += 1 + usize::from(self.values.contains(&word.as_str()));
        }
        Some(at)
    }
}

/// `uv run -m pytest` runs a module of that name.
fn module(inner: &[String], before: &[String]) -> Vec<String> {
    let is_module = before.last().is_some_and(|word| word == "-m" || word == "--module");
    let python = is_module.then(|| ["python".to_owned(), "-m".to_owned()]);
    python.into_iter().flatten().chain(inner.iter().cloned()).collect()
}

fn script(text: String) -> Inner {
    Inner::Script { text, errexit: false, pipefail: false }
}

fn shell(rest: &[String]) -> Option<Inner> {
    let (mut errexit, mut pipefail) = (false, false);
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        if word.starts_with("--") {
            // A file that is read first may do anything, and the others run nothing.
            if !matches!(word.as_str(), "--" | "--login" | "--norc" | "--noprofile" | "--posix" | "--verbose")
            {
                return Some(Inner::Nothing);
            }
            continue;
        }
        if !runs(word, rest.get(at)) {
            return Some(Inner::Nothing);
        }
        errexit |= word.contains('e');
        if word.ends_with('o') {
            pipefail |= rest.get(at).is_some_and(|word| word == "pipefail");
            at += 1;
        }
        if word.contains('c') {
            // Options may stand between `-c` and the text.
            while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
                if !runs(word, rest.get(at + 1)) {
                    return Some(Inner::Nothing);
                }
                errexit |= word.contains('e');
                if word.ends_with('o') {
                    pipefail |= rest.get(at + 1).is_some_and(|word| word == "pipefail");
                    at += 1;
                }
                at += 1;
            }
            let text = rest.get(at)?.clone();
            return Some(Inner::Script { text, errexit, pipefail });
        }
    }
    // A script in a file: it is what is run.
    rest.get(at).map(|_| Inner::Words(rest[at..].to_vec()))
}

/// Whether a shell with these options runs what it is given: `-n` only reads it, `-t` ends after one command.
fn runs(letters: &str, next: Option<&String>) -> bool {
    const NAMES: &[&str] = &["pipefail", "errexit", "nounset", "xtrace", "verbose"];
    let named = letters.ends_with('o').then_some(next).flatten();
    letters.trim_start_matches('-').chars().all(|c| "ceuxlivoEpBsm".contains(c))
        && named.is_none_or(|name| NAMES.contains(&name.as_str()))
}

fn env(rest: &[String]) -> Inner {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        match word.as_str() {
            "-S" | "--split-string" => return script(rest[at + 1..].join(" ")),
            "-u" | "--unset" | "-C" | "--chdir" => at += 2,
            "--" => {
                at += 1;
                break;
            }
            word if word.starts_with('-') => at += 1,
            _ => break,
        }
    }
    Inner::Words(without_assignments(rest.get(at..).unwrap_or_default()).to_vec())
}

fn after_flag<'a>(rest: &'a [String], flags: &[&str]) -> Option<&'a [String]> {
    let at = rest.iter().position(|word| flags.contains(&word.as_str()))?;
    Some(&rest[at + 1..])
}

/// `A=1 B=2 cmd` without what is set for it.
pub(super) fn without_assignments(words: &[String]) -> &[String] {
    let at = words.iter().position(|word| !is_assignment(word)).unwrap_or(words.len());
    &words[at..]
}

pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `./node_modules/.bin/jest`, `jest.cmd`, `vitest@latest` and `@biomejs/biome` by the name that people say.
pub(super) fn base_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = name.split_once('@').map_or(name, |(name, _)| if name.is_empty() { program } else { name });
    [".exe", ".cmd", ".bat", ".phar"].iter().find_map(|ext| name.strip_suffix(ext)).unwrap_or(name)
}
