//! `ralph replay`: an old run through the rendering of a live one, or through a fresh engine.

use ralph_core::ids::RunId;
use ralph_core::replay::{Difference, Verifier};
use ralph_store::RunDir;
use serde::Serialize;

use super::{each_record, pick, screen};
use crate::args::ReplayArgs;
use crate::error::CliError;

pub fn replay(args: ReplayArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    super::held_out::refuse_inside(&run, "replay")?;
    if args.verify {
        return verify(&run, args.screen.json);
    }
    let mut screen = screen::replay(&args.screen);
    each_record(&run, &mut |record| {
        screen.event(&record);
        Ok(())
    })?;
    screen.finish();
    Ok(0)
}

/// What came of feeding the recorded inputs to a fresh engine.
#[derive(Serialize)]
struct Verified<'a> {
    run: &'a RunId,
    inputs: u64,
    decisions: u64,
    difference: Option<&'a Difference>,
}

fn verify(run: &RunDir, json: bool) -> Result<u8, CliError> {
    let mut verifier = Verifier::default();
    let mut different = None;
    each_record(run, &mut |record| {
        if different.is_none() {
            different = verifier.push(&record).err();
        }
        Ok(())
    })?;
    if json {
        let code = u8::from(different.is_some());
        crate::io::print_json(&Verified {
            run: &run.id,
            inputs: verifier.inputs,
            decisions: verifier.decisions,
            difference: different.as_deref(),
        })?;
        return Ok(code);
    }
    let Some(found) = different else {
        crate::io::print(&format!(
            "run {}: {} inputs fed to a fresh engine, {} decisions, all as recorded",
            run.id, verifier.inputs, verifier.decisions
        ))?;
        return Ok(0);
    };
    let show = |event: &ralph_core::event::Event| {
        serde_json::to_string(event).unwrap_or_else(|error| format!("{} ({error})", event.name()))
    };
    let decided = found.decided.as_ref().map_or_else(|| "nothing".to_owned(), show);
    Err(CliError::Failed(format!(
        "run {}: record {} differs\n  recorded: {}\n  decided:  {decided}",
        run.id,
        found.seq,
        show(&found.recorded)
    )))
}
