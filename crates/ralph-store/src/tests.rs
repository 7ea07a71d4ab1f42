//! Whether runs are listed and found as they are, with and without an index.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_core::event::{Event, FORMAT, IterationFinished, IterationStarted, Outcome, RunStarted};
use ralph_core::ids::{IterationNumber, RunId, Seq};
use ralph_core::plan::{AgentPlan, Plan, Task};
use ralph_core::record::{Chain, Record};
use ralph_core::time::Timestamp;
use ralph_model::{RunListing, RunWord};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::store::INDEX;
use crate::*;

struct World {
    dir: TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::at(dir.path().join("state")).expect("a store");
        Self { dir, store }
    }

    /// A folder to work in, by its true name.
    fn folder(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(&path).expect("a folder");
        path.canonicalize().expect("the folder")
    }

    /// A run with this id; `second` is when it started, and stopped.
    fn run(&self, id: &str, name: &str, workspace: &Path, second: u32) -> RunDir {
        let path = self.store.runs_dir().join(id);
        fs::create_dir_all(&path).expect("a folder");
        let run = RunDir { id: RunId(id.to_owned()), path };
        let plan = Plan::new(name, workspace, Task::Text("x".to_owned()), AgentPlan::command("x"));
        let started = RunStarted {
            run: run.id.clone(),
            format: FORMAT,
            version: "0".to_owned(),
            pid: 1,
            plan,
            containment: None,
        };
        let at = Timestamp::from_millis(i64::from(second) * 1000);
        let mut chain = Chain::default();
        let mut text = Record { seq: Seq(1), at, event: Event::RunStarted(Box::new(started)) }
            .encode(&mut chain)
            .expect("a line");
        text.push_str(&stopped(2, second));
        fs::write(run.journal(), text).expect("write");
        settle(&run);
        run
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("state").join(INDEX)
    }

    /// What is listed, after a comparison with what is listed without the index.
    fn listed(&self) -> Vec<String> {
        let told = |runs: Vec<Listed>| -> Vec<String> {
            runs.iter()
                .map(|run| {
                    let summary = run.summary.as_ref();
                    let stopped = summary.and_then(|summary| summary.stopped.as_ref());
                    let name = summary.map_or("?", |summary| &summary.name);
                    format!("{} {name} {} {:?} {}", run.run.id, run.live, run.last_at, stopped.is_some())
                })
                .collect()
        };
        let with = told(self.store.list());
        let again = told(self.store.list());
        let index = fs::read(self.index()).ok();
        let _ = fs::remove_file(self.index());
        let without = told(self.store.list());
        assert_eq!((&with, &again), (&without, &without));
        index.iter().for_each(|bytes| fs::write(self.index(), bytes).expect("write"));
        with.iter().map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect()
    }
}

fn stopped(seq: u64, second: u32) -> String {
    let at = Timestamp::from_millis(i64::from(second) * 1000);
    let json = format!(
        "{{\"seq\":{seq},\"at\":\"{at}\",\"type\":\"run.stopped\",\"reason\":\"max_iterations\",\"kind\":\"limit\",\
         \"exit_code\":3,\"message\":\"m\",\"iterations\":1,\"cost_usd\":null,\"duration_ms\":1"
    );
    format!("{json},\"crc\":\"00000000\"}}\n")
}

fn append(run: &RunDir, text: &str) {
    let mut file = OpenOptions::new().append(true).open(run.journal()).expect("open");
    file.write_all(text.as_bytes()).expect("write");
}

/// As if it had been written a minute ago.
fn settle(run: &RunDir) {
    let then = SystemTime::now() - Duration::from_secs(60);
    File::open(run.journal()).and_then(|file| file.set_modified(then)).expect("a time");
}

#[test]
fn with_an_index_the_same_is_listed_whatever_happens_to_the_runs() {
    let world = World::new();
    let here = world.folder("work");
    let [a, b, c] = [("a", 1), ("b", 2), ("c", 3)].map(|(id, second)| world.run(id, id, &here, second));
    assert_eq!(world.listed(), ["c c false", "b b false", "a a false"]);
    let mode = fs::metadata(world.index()).expect("an index").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    append(
        &a,
        "{\"seq\":3,\"at\":\"2026-01-18T10:00:00.000Z\",\"type\":\"run.resumed\",\"crc\":\"00000000\"}\n",
    );
    assert_eq!(world.listed(), ["a a false", "c c false", "b b false"], "resumed and cut off");
    let journal = File::open(b.journal()).expect("open");
    append(
        &b,
        "{\"seq\":3,\"at\":\"2026-01-18T09:00:00.000Z\",\"type\":\"run.resumed\",\"crc\":\"00000000\"}\n",
    );
    flock(&journal, FlockOperation::LockExclusive).expect("lock");
    settle(&b);
    assert_eq!(world.listed(), ["b b true", "a a false", "c c false"], "resumed and at work");
    append(&b, &stopped(4, 9));
    drop(journal);
    settle(&b);
    assert_eq!(world.listed(), ["a a false", "b b false", "c c false"], "stopped again");

    fs::write(c.journal(), "garbage\n").expect("write");
    settle(&c);
    assert_eq!(world.listed(), ["a a false", "b b false", "c ? false"], "damaged");
    fs::remove_dir_all(&a.path).expect("remove");
    assert_eq!(world.listed(), ["b b false", "c ? false"], "removed");
    world.run("a", "anew", &here, 5);
    assert_eq!(world.listed(), ["b b false", "a anew false", "c ? false"], "another of that id");
}

#[test]
fn a_run_is_sized_once_and_again_when_its_journal_changed() {
    let world = World::new();
    let here = world.folder("work");
    let run = world.run("a", "a", &here, 1);
    settle(&run);
    let size = || world.store.sized().into_iter().map(|(_, size)| size).collect::<Vec<_>>();
    let first = size();
    assert_eq!(first, [run.size()]);
    // Nobody looks into the folder again while the journal says that nothing happened.
    fs::write(run.path.join("more"), vec![b'x'; 100_000]).expect("write");
    assert_eq!(size(), first);
    append(&run, &stopped(3, 2));
    settle(&run);
    assert_eq!(size(), [run.size()]);
    assert!(size() > first);
}

/// A run that was cut off in its third iteration; the second one failed.
fn cut_off(world: &World, id: &str, workspace: &Path) -> RunDir {
    let run = world.run(id, "cut", workspace, 1);
    let first = fs::read_to_string(run.journal()).expect("read").lines().next().expect("a start").to_owned();
    let mut text = first + "\n";
    let mut chain = Chain::default();
    let mut seq: u32 = 1;
    let mut put = |event: Event| {
        seq += 1;
        let at = Timestamp::from_millis(i64::from(seq) * 1000);
        text.push_str(&Record { seq: Seq(u64::from(seq)), at, event }.encode(&mut chain).expect("a line"));
    };
    for (number, outcome) in [(1, Some(Outcome::Ok)), (2, Some(Outcome::Failed)), (3, None)] {
        let iteration = IterationNumber(number);
        put(Event::IterationStarted(IterationStarted { iteration, attempt: 1, agent: 0, hat: None }));
        let finished = outcome.map(|outcome| IterationFinished {
            cost_usd: Some(0.1),
            ..IterationFinished::new(iteration, 1, outcome)
        });
        finished.into_iter().for_each(|finished| put(Event::IterationFinished(finished)));
    }
    fs::write(run.journal(), text).expect("write");
    settle(&run);
    run
}

#[test]
fn the_index_knows_what_all_records_of_a_run_that_was_cut_off_say() {
    let world = World::new();
    let here = world.folder("work");
    let run = cut_off(&world, "a", &here);
    let listed = || world.store.listings(Some(&here), Timestamp::default()).runs;
    let first = listed();
    let told = |runs: &[RunListing]| (runs[0].iterations, runs[0].failures, runs[0].cost_usd, runs[0].state);
    assert_eq!(told(&first), (2, 1, Some(0.2), RunWord::Crashed));
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(world.index()).expect("an index"));
    let before = inode();
    assert_eq!(listed(), first, "from the index");
    assert_eq!(inode(), before, "which is not written anew without need");

    let written = fs::metadata(run.journal()).and_then(|meta| meta.modified()).expect("a time");
    let sound = fs::read(run.journal()).expect("read");
    fs::write(run.journal(), vec![b'x'; sound.len()]).expect("write");
    File::open(run.journal()).and_then(|file| file.set_modified(written)).expect("a time");
    assert_eq!(listed(), first, "the records are not read again");
    let _ = fs::remove_file(world.index());
    assert_eq!(listed(), [], "without the index they are");
    assert_eq!(world.store.listings(None, Timestamp::default()).runs[0].state, RunWord::Damaged);

    fs::write(run.journal(), &sound).expect("write");
    settle(&run);
    assert_eq!(listed(), first);
    let journal = File::open(run.journal()).expect("open");
    flock(&journal, FlockOperation::LockExclusive).expect("lock");
    assert_eq!(told(&listed()), (2, 1, Some(0.2), RunWord::Running), "alive: the index is not asked");
    drop(journal);
    append(&run, &stopped(7, 9));
    settle(&run);
    let after = listed();
    assert_eq!((after[0].iterations, after[0].state), (1, RunWord::Stopped), "as its last record says");
}

#[test]
fn a_run_that_needs_a_person_comes_first_unless_another_one_came_after_it() {
    let world = World::new();
    let (here, there) = (world.folder("here"), world.folder("there"));
    let blocked = |id: &str, workspace: &Path, second: u32| {
        let run = world.run(id, "x", workspace, second);
        let text = fs::read_to_string(run.journal()).expect("read");
        let asks = "\"reason\":\"blocked\",\"kind\":\"blocked\"";
        let text = text.replace("\"reason\":\"max_iterations\",\"kind\":\"limit\"", asks);
        // The whole journal is read, so its checksums count.
        let mut chain = Chain::default();
        let sound = text.lines().map(|line| {
            let json = ralph_core::record::json_of(line.as_bytes()).expect("JSON");
            let record = Record::from_json(json.as_bytes()).expect("a record");
            record.encode(&mut chain).expect("a line")
        });
        fs::write(run.journal(), sound.collect::<String>()).expect("write");
        settle(&run);
    };
    blocked("a", &here, 1);
    blocked("b", &there, 2);
    world.run("c", "x", &world.folder("third"), 3);
    let told = |here: Option<&Path>| {
        let Listings { runs, elsewhere } = world.store.listings(here, Timestamp::default());
        let one = |run: &RunListing| format!("{} {}", run.run, run.needs_person.is_some());
        (runs.iter().map(one).collect::<Vec<_>>(), elsewhere)
    };
    for _ in 0..2 {
        assert_eq!(told(None).0, ["b true", "a true", "c false"]);
        assert_eq!(told(Some(&here)), (vec!["a true".to_owned()], 1));
    }
    world.run("d", "x", &here, 4);
    assert_eq!(told(None).0, ["b true", "d false", "c false", "a false"]);
    assert_eq!(told(Some(&there)), (vec!["b true".to_owned()], 0));
}

#[test]
fn records_that_cannot_be_read_are_told_of_each_time() {
    let world = World::new();
    let here = world.folder("work");
    let run = cut_off(&world, "a", &here);
    append(&run, "garbage\n");
    settle(&run);
    for _ in 0..2 {
        let listed = world.store.listings(Some(&here), Timestamp::default()).runs;
        assert_eq!(listed[0].state, RunWord::Damaged);
        assert!(listed[0].damage.as_deref().is_some_and(|why| why.contains("checksum")), "{listed:?}");
    }
}

#[test]
fn a_damaged_index_is_no_index() {
    let world = World::new();
    let here = world.folder("work");
    world.run("a", "right", &here, 1);
    world.listed();
    let sound = fs::read(world.index()).expect("an index");
    let at = memchr::memmem::find(&sound, b"right").expect("the name");
    let mut lie = sound.clone();
    lie[at..at + 5].copy_from_slice(b"wrong");
    for bytes in [lie, sound[..sound.len() / 2].to_vec(), Vec::new(), b"\xff\xff\n{".to_vec()] {
        fs::write(world.index(), bytes).expect("write");
        assert_eq!(world.listed(), ["a right false"]);
    }
    fs::remove_file(world.index()).expect("remove");
    fs::create_dir(world.index()).expect("a folder");
    assert_eq!(world.store.list().len(), 1, "where no index can be written");
}

#[test]
fn a_run_is_found_by_its_id_either_end_of_it_its_name_or_its_folder() {
    let world = World::new();
    let (here, there) = (world.folder("here"), world.folder("there"));
    let below = world.folder("here/src/deep");
    let old = world.run("20260118-100000-1ec0a7", "fix", &here, 1);
    let new = world.run("20260118-110000-2ec0ff", "fix", &here, 2);
    let other = world.run("20260119-100000-3ab0a7", "tidy", &there, 3);
    let find = |name: Option<&str>, from: &Path| world.store.find(name, from).expect("a run").id;
    assert_eq!(find(None, &here), new.id);
    assert_eq!(find(None, &below), new.id, "also from a subfolder");
    assert_eq!(find(Some("20260118-10"), &there), old.id);
    assert_eq!(find(Some("c0a7"), &there), old.id);
    assert_eq!(find(Some("3ab0a7"), &here), other.id);
    assert_eq!(find(Some("fix"), &there), new.id, "the last one of that name");
    assert_eq!(find(Some("tidy"), &here), other.id);
    assert_eq!(find(Some("../there"), &here), other.id);
    assert_eq!(find(Some(&there.display().to_string()), &here), other.id);
    assert_eq!(find(Some("src"), &here), new.id, "a folder inside of the workspace");
    let journal = File::open(old.journal()).expect("open");
    append(
        &old,
        "{\"seq\":3,\"at\":\"1970-01-01T00:00:01.500Z\",\"type\":\"run.resumed\",\"crc\":\"00000000\"}\n",
    );
    flock(&journal, FlockOperation::LockExclusive).expect("lock");
    assert_eq!(
        [find(None, &below), find(Some("fix"), &there)],
        [old.id.clone(), old.id.clone()],
        "the live one"
    );

    let error = |name: Option<&str>, from: &Path| world.store.find(name, from).expect_err("none").to_string();
    let told = error(Some("0a7"), &here);
    assert!(told.contains(&old.id.0) && told.contains(&other.id.0) && !told.contains(&new.id.0), "{told}");
    assert!(told.contains(&format!("`tidy` in {}", there.display())), "{told}");
    assert!(error(Some("nothing"), &here).contains("no run is called `nothing`"));
    assert!(error(Some(""), &here).contains("no run is called"));
    assert!(error(Some("../runs/x"), &here).contains("no run is called"));
    assert!(error(None, world.dir.path()).contains("no run here"));
}

#[test]
fn one_name_in_two_workspaces_means_the_one_of_this_workspace_or_none() {
    let world = World::new();
    let (here, there) = (world.folder("here"), world.folder("there"));
    let mine = world.run("1", "fix", &here, 1);
    let theirs = world.run("2", "fix", &there, 2);
    assert_eq!(world.store.find(Some("fix"), &here).expect("a run"), mine);
    assert_eq!(world.store.find(Some("fix"), &there).expect("a run"), theirs);
    let told = world.store.find(Some("fix"), &world.folder("elsewhere")).expect_err("two").to_string();
    assert!(told.contains("1 `fix` in") && told.contains("2 `fix` in"), "{told}");
}

#[test]
fn an_iteration_has_its_records_and_its_artefacts() {
    let world = World::new();
    let run = world.run("r", "fix", &world.folder("here"), 1);
    let line = |seq: u64, rest: &str| {
        format!(
            "{{\"seq\":{seq},\"at\":\"2026-01-18T10:00:00.000Z\",\"type\":{rest},\"crc\":\"00000000\"}}\n"
        )
    };
    append(&run, &line(3, "\"gate.started\",\"iteration\":1,\"round\":1,\"name\":\"cargo test\""));
    append(
        &run,
        &line(
            4,
            "\"gate.finished\",\"iteration\":1,\"round\":1,\"name\":\"cargo test\",\"passed\":true,\"exit_code\":0,\"duration_ms\":5",
        ),
    );
    append(&run, &line(5, "\"run.paused\""));
    append(&run, &line(6, "\"gate.started\",\"iteration\":2,\"round\":1,\"name\":\"cargo test\""));
    assert_eq!(run.iteration_range(IterationNumber(1)).expect("read"), Seq(3)..Seq(6));
    assert_eq!(run.iteration_range(IterationNumber(2)).expect("read"), Seq(6)..Seq(7));
    assert!(run.iteration_range(IterationNumber(3)).expect("read").is_empty());
    let newest = |iterations, records| run.newest_range(iterations, records).expect("read");
    assert_eq!(newest(1, 100), Seq(6)..Seq(7));
    assert_eq!(newest(50, 100), Seq(3)..Seq(7));
    assert_eq!(newest(2, 2), Seq(5)..Seq(7), "no more than so many records");
    assert_eq!(newest(2, 0), Seq(6)..Seq(7), "but the last iteration");
    assert!(
        world.run("bare", "fix", &world.folder("here"), 1).newest_range(50, 100).expect("read").is_empty()
    );
    let mut seqs = Vec::new();
    run.each_record::<ReadError>(Seq(4)..Seq(6), &mut |record| {
        seqs.push(record.seq.0);
        Ok(())
    })
    .expect("read");
    assert_eq!(seqs, [4, 5]);
    assert_eq!(run.artefacts(IterationNumber(1)).expect("read"), None, "it was never started");
}
