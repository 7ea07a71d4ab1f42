//! `ralph replay`: an old run through the rendering of a live one, or through a fresh engine.

use ralph_core::replay::Verifier;
use ralph_runtime::store::RunDir;

use super::{each_record, pick, screen};
use crate::args::ReplayArgs;
use crate::error::CliError;

pub fn replay(args: ReplayArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
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
        let difference = different.map(|found| {
            serde_json::json!({ "seq": found.seq, "recorded": found.recorded, "decided": found.decided })
        });
        crate::io::print_json(&serde_json::json!({
            "run": run.id,
            "inputs": verifier.inputs,
            "decisions": verifier.decisions,
            "difference": difference,
        }))?;
        return Ok(code);
    }
    let Some(found) = different else {
        crate::io::print(&format!(
            "run {}: {} inputs fed to a fresh engine, {} decisions, all as recorded",
            run.id, verifier.inputs, verifier.decisions
        ))?;
        return Ok(0);
    };
    let show = |event: &ralph_core::event::Event| serde_json::to_string(event).unwrap_or_default();
    let decided = found.decided.as_ref().map_or_else(|| "nothing".to_owned(), show);
    Err(CliError::Failed(format!(
        "run {}: record {} differs\n  recorded: {}\n  decided:  {decided}",
        run.id,
        found.seq,
        show(&found.recorded)
    )))
}
