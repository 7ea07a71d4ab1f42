//! What is trained on and not scored: kinds that the sets have too few of. Loops of agents that are blocked, silent or done in ever
//! new words, that undo and redo, that count their tries; and work that says little or always says the same.

use super::{Case, Dice, LOOP, Make, paraphrased, texts};

pub const HARD: &[(&str, Make)] = &[
    ("loop_silent", silent),
    ("loop_blocked", blocked),
    ("loop_complete", complete),
    ("loop_failed_edits", failed_edits),
    ("loop_back_and_forth", back_and_forth),
    ("loop_tries", tries),
    ("loop_story", story),
    ("loop_noisy", noisy),
    ("loop_waiting", waiting),
    ("work_silent", silent_work),
    ("work_closing", closing),
    ("work_modules", modules),
    ("work_searches", searches),
    ("work_sweep", sweep),
    ("work_twice", twice),
];

fn begin(case: &mut Case, dice: &mut Dice) {
    let before = dice.roll(5);
    case.prelude(dice, before);
    case.stuck = Some((before, 1));
}

fn silent(case: &mut Case, dice: &mut Dice) {
    begin(case, dice);
    for _ in 0..LOOP {
        case.push(dice, "", &[], "s", false);
    }
}

/// Waits for something that never ends.
fn waiting(case: &mut Case, dice: &mut Dice) {
    const WAITS: [&str; 5] = [
        "Still waiting for the pipeline to complete.",
        "The deployment has not ended yet; polling again.",
        "Waiting for the lock to be released.",
        "Ich warte noch auf das Ende des Laufs.",
        "还在等待构建结束。",
    ];
    begin(case, dice);
    let text = dice.pick(&WAITS).to_owned() + "\n";
    for _ in 0..LOOP + 3 {
        case.push(dice, &text, &["poll".to_owned()], "s", false);
    }
}

fn silent_work(case: &mut Case, dice: &mut Dice) {
    case.tools = true;
    for n in 0..LOOP {
        case.push(dice, "", &[format!("!{n}")], &format!("s{n}"), false);
    }
}

const BLOCKED: &[&[&str]] = &[
    &[
        "I cannot write to {file}: the permission has not been granted.",
        "Still blocked. Somebody has to approve the change to {file} before I can go on.",
        "The edit of {file} needs approval from a person.",
        "No access yet; I am waiting for permission to touch {file}.",
        "Human action required: please allow edits of {file}.",
        "I remain unable to proceed without write access to {file}.",
        "STATUS: BLOCKED\nFILES_MODIFIED: 0\nRECOMMENDATION: grant access to {file}",
        "This has been refused again. Nothing can be done here until access is granted.",
    ],
    &[
        "Ich bin blockiert: für {file} fehlt die Berechtigung.",
        "Ohne Freigabe kann ich {file} nicht ändern.",
        "Ich warte weiter auf die Genehmigung für {file}.",
        "Es fehlt noch immer die Zustimmung eines Menschen, daher kein Fortschritt.",
        "Bitte den Zugriff auf {file} erlauben, vorher geht es nicht weiter.",
    ],
    &[
        "Sigo bloqueado: no tengo permiso para editar {file}.",
        "Espero la aprobación del usuario para cambiar {file}.",
        "Sin autorización no puedo continuar con {file}.",
        "Necesito que alguien conceda acceso a {file}.",
    ],
    &[
        "没有 {file} 的写入权限，无法继续。",
        "仍在等待授权，请批准对 {file} 的修改。",
        "一切就绪，等你下一步指令。",
        "需要用户授予权限之后才能处理 {file}。",
        "配置没有问题，等待命令。",
    ],
    &[
        "Ready for your command. What should I do with {file}?",
        "It looks like you pasted the instructions again. Tell me what you need.",
        "I have read {file}. How would you like to proceed?",
        "Everything is set up; I am awaiting your instructions.",
        "Do you want me to start? Please confirm.",
    ],
];

fn said(case: &mut Case, dice: &mut Dice, all: &[&[&str]]) {
    begin(case, dice);
    let (texts, file) = (all[dice.roll(all.len())], case.project.file(dice));
    for _ in 0..LOOP {
        let mut text = dice.pick(texts).replace("{file}", &file) + "\n";
        if dice.chance(50) {
            text += &(dice.pick(texts).replace("{file}", &file) + "\n");
        }
        case.push(dice, &text, &[], "s", false);
    }
}

fn blocked(case: &mut Case, dice: &mut Dice) {
    said(case, dice, BLOCKED);
}

const COMPLETE: &[&[&str]] = &[
    &[
        "The whole of {file} is implemented and every item of the plan is ticked.",
        "Summary: all phases are finished, {file} included. No work is left.",
        "Verified once more that everything is in place. The project is complete.",
        "All exit criteria are met; there is nothing to add to {file}.",
        "Phase complete, exiting.",
        "Everything that was asked for has been delivered already.",
        "Final status: COMPLETE. The suite passes and the tree is clean.",
    ],
    &[
        "Alles ist fertig, auch {file}. Es gibt nichts mehr zu tun.",
        "Die Aufgabe ist vollständig umgesetzt.",
        "Keine offenen Punkte; alle Tests sind grün.",
        "Der Plan ist abgeschlossen, weitere Änderungen sind nicht nötig.",
    ],
    &[
        "Todo está completo, incluido {file}; no queda nada por hacer.",
        "Todas las tareas están terminadas.",
        "No hay cambios pendientes.",
    ],
    &["所有任务已经完成，没有剩余工作。", "项目已全部实现，无需修改 {file}。", "检查完毕，没有待办事项。"],
];

fn complete(case: &mut Case, dice: &mut Dice) {
    said(case, dice, COMPLETE);
}

fn failed_edits(case: &mut Case, dice: &mut Dice) {
    begin(case, dice);
    let (file, name) = (case.project.file(dice), case.project.name(dice));
    for n in 0..LOOP {
        let text = format!("[edit] {file}\nThe text to be replaced was not found in {name}.\n");
        case.push(dice, &text, &[format!("!{n}")], "s", true);
    }
}

/// The same change, made and taken back.
fn back_and_forth(case: &mut Case, dice: &mut Dice) {
    let before = dice.roll(5);
    case.prelude(dice, before);
    case.stuck = Some((before, 2));
    let (file, name) = (case.project.file(dice), case.project.name(dice));
    let error = texts::error(dice, &case.project);
    for n in 0..LOOP + 2 {
        let text = match n % 2 {
            0 => paraphrased(dice, &format!("Changed {name} in {file} to return early.\n{error}")),
            _ => paraphrased(dice, &format!("Reverted the change of {name} in {file}.\n{error}")),
        };
        case.push(dice, &text, &[format!("!{}", n % 2)], &format!("s{}", n % 2), n % 2 == 0);
    }
}

/// What is counted is only tries and money.
fn tries(case: &mut Case, dice: &mut Dice) {
    begin(case, dice);
    let (error, from, form) = (texts::error(dice, &case.project), dice.roll(9), dice.roll(4));
    for n in 0..LOOP {
        let count = from + n;
        let line = match form {
            0 => format!("{count} attempts so far."),
            1 => format!("This is attempt {count}; ${}.{:02} spent.", n / 2, 13 * n % 100),
            2 => format!("{count} loops without success, {} lines of log.", 40 + 17 * n),
            _ => format!("I have now tried this {count} times."),
        };
        let text = paraphrased(dice, &format!("{error}{line}\n"));
        case.push(dice, &text, &[format!("!{n}"), "check".to_owned()], &format!("s{n}"), true);
    }
}

/// The same tests fail, and each time it is explained otherwise.
fn story(case: &mut Case, dice: &mut Dice) {
    begin(case, dice);
    let names: Vec<String> = (0..1 + dice.roll(3)).map(|_| case.project.name(dice)).collect();
    for n in 0..LOOP {
        let (file, name) = (case.project.file(dice), case.project.name(dice));
        let lead = match dice.roll(4) {
            0 => format!("The cause is {name} in {file}; changed it."),
            1 => format!("Perhaps {name} is called too early, so it moved to {file}."),
            2 => format!("Rewrote {name}, which should settle it."),
            _ => format!("A different idea: {file} caches {name}."),
        };
        let failing: String = names.iter().map(|name| format!("FAILED tests/{name}\n")).collect();
        let text = format!("{lead}\n{failing}{} failed, 31 passed\n", names.len());
        case.push(dice, &text, &[format!("!{n}"), "check".to_owned()], &format!("s{n}"), true);
    }
}

/// A circle with one iteration of something else in it.
fn noisy(case: &mut Case, dice: &mut Dice) {
    begin(case, dice);
    let (error, odd) = (texts::error(dice, &case.project), 3 + dice.roll(3));
    for n in 0..LOOP + 2 {
        let text = match n == odd {
            true => texts::work(dice, &case.project),
            false => paraphrased(dice, &error),
        };
        case.push(dice, &text, &["check".to_owned()], "s", true);
    }
}

fn closing(case: &mut Case, dice: &mut Dice) {
    let closing =
        format!("All tests pass. {} is in good shape; on to the next one.\n", case.project.file(dice));
    for n in 0..10 {
        let (file, name) = (case.project.file(dice), case.project.name(dice));
        let text = match dice.roll(3) {
            0 => format!("Added {name} to {file} and committed it.\n{closing}"),
            1 => format!("[main {:07x}] Add {name}\n 1 file changed\n{closing}", dice.roll(1 << 28)),
            _ => format!("{name}\n{closing}"),
        };
        case.push(dice, &text, &[format!("!{n}")], &format!("s{n}"), false);
    }
}

fn modules(case: &mut Case, dice: &mut Dice) {
    let command = case.project.command(dice);
    let form = dice.roll(3);
    for n in 0..8 {
        let name = case.project.name(dice);
        let line = match form {
            0 => format!("ModuleNotFoundError: No module named '{name}'"),
            1 => format!("error: cannot find package \"{name}\""),
            _ => format!("Error: Cannot find module '{name}'\n    at require"),
        };
        case.push(
            dice,
            &format!("$ {command}\n{line}\n"),
            &[format!("install {n}"), "run".to_owned()],
            &format!("s{n}"),
            true,
        );
    }
}

fn searches(case: &mut Case, dice: &mut Dice) {
    let before = dice.roll(4);
    case.prelude(dice, before);
    for n in 0..4 {
        let name = case.project.name(dice);
        case.push(
            dice,
            &format!("Searched the sources for '{name}': no matches found.\n"),
            &[format!("search {n}")],
            "s",
            false,
        );
    }
    case.prelude(dice, 4);
}

fn sweep(case: &mut Case, dice: &mut Dice) {
    let mut loss = 900 + dice.roll(100);
    for n in 0..9 {
        let text = format!("lr {}e-{} -> loss=0.{loss}\n", 1 + dice.roll(9), 2 + dice.roll(4));
        case.push(dice, &text, &[format!("run {n}")], &format!("s{n}"), false);
        loss = 300 + dice.roll(600);
    }
}

/// Two failures, and then it works.
fn twice(case: &mut Case, dice: &mut Dice) {
    let before = dice.roll(4);
    case.prelude(dice, before);
    for _ in 0..2 {
        let error = texts::error(dice, &case.project);
        case.push(dice, &error, &["check".to_owned()], "s", true);
        case.push(dice, &error, &["check".to_owned()], "s", true);
        case.push(
            dice,
            "The check is OK now, committed.\n",
            &["check".to_owned(), "!c".to_owned()],
            &format!("ok{before}"),
            false,
        );
        case.prelude(dice, 2);
    }
}
