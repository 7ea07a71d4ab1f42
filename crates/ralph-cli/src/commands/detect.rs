//! `ralph detect`: tries the detectors of stuck runs on what has been recorded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

use ralph_core::detector::{
    Case, NoProgress, OutputSimilarityDetector, Prediction, SignatureDetector, Sketch,
};

use crate::args::{DetectArgs, Detector};
use crate::error::CliError;

pub fn detect(args: DetectArgs) -> Result<u8, CliError> {
    let name = args.cases.display();
    let file = File::open(&args.cases)
        .map_err(|error| CliError::Usage(format!("can not open the cases {name}: {error}")))?;
    let mut out = BufWriter::new(io::stdout());
    // One case at a time: a file of them may be larger than memory.
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|error| CliError::Failed(format!("can not read {name}: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let case: Case = serde_json::from_str(&line)
            .map_err(|error| CliError::Usage(format!("{name}, line {}: not a case: {error}", number + 1)))?;
        let alarm = first_alarm(&case, args.detector);
        let text = match args.predictions {
            true => {
                let fired_at = alarm.map(|(at, _)| at);
                serde_json::to_string(&Prediction { id: case.id, fired_at }).map_err(io::Error::from)?
            }
            false => match alarm {
                Some((at, why)) => {
                    format!("{}: iteration {} of {}: {why}", case.id, at + 1, case.iterations.len())
                }
                None => format!("{}: no alarm in {} iterations", case.id, case.iterations.len()),
            },
        };
        if writeln!(out, "{text}").is_err() {
            break;
        }
    }
    crate::io::quiet(out.flush())?;
    Ok(0)
}

/// Looks at one more iteration; tells what it found.
type Check = Box<dyn FnMut(&Sketch) -> Option<String>>;

/// The index of the iteration after which the detector says "stuck", and why.
fn first_alarm(case: &Case, detector: Detector) -> Option<(usize, String)> {
    let mut check: Check = match detector {
        Detector::NoProgress => {
            let mut detector = NoProgress::default();
            Box::new(move |sketch| {
                let finding = detector.observe(sketch);
                finding.pattern.filter(|_| finding.alarm).map(|pattern| pattern.to_string())
            })
        }
        Detector::Similarity => {
            let mut detector = OutputSimilarityDetector::default();
            Box::new(move |sketch| {
                let found = detector.observe(sketch.lines.as_ref()?)?;
                Some(format!("{:.0}% like the output {} back", 100.0 * found.ratio, found.back))
            })
        }
        Detector::Signature => {
            let mut detector = SignatureDetector::default();
            Box::new(move |sketch| detector.observe(&sketch.signature).then(|| sketch.signature.clone()))
        }
    };
    let mut sketches = case.iterations.iter().map(|iteration| iteration.sketch()).enumerate();
    sketches.find_map(|(at, sketch)| check(&sketch).map(|why| (at, why)))
}
