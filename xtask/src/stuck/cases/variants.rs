//! Harder kinds: other tongues, tiny errors, loops between long rules; and work that shows in one name, one mark or one number.

use super::{Case, Dice, LOOP, Make, paraphrased, texts};

pub const VARIANTS: &[(&str, Make)] = &[
    ("loop_tongue", tongue),
    ("loop_tiny_error", tiny_error),
    ("loop_rules", loop_between_rules),
    ("loop_idle_tongue", idle_tongue),
    ("work_sentence", sentence),
    ("work_window", window),
    ("work_marks", marks),
    ("work_phase", phase),
    ("work_rename", rename),
    ("work_terse", terse),
    ("work_tuning", tuning),
    ("work_check", same_check),
    ("work_outage", outage),
];

const TONGUES: &[&[&str]] = &[
    &[
        "Ich versuche es auf einem anderen Weg.",
        "Seltsam, das sah vorhin noch gut aus.",
        "Womöglich greift eine alte Einstellung.",
        "Noch einmal von vorn, in kleineren Schritten.",
        "Der Aufruf kommt wohl zu früh.",
        "Gleich sollte es laufen.",
        "Ich lese zuerst die Beschreibung.",
    ],
    &[
        "Lo intento otra vez con menos cambios.",
        "Puede que el valor llegue demasiado tarde.",
        "Extraño, antes parecía correcto.",
        "Empiezo por leer la descripción.",
        "Creo que la caché tiene la culpa.",
        "Ahora debería salir bien.",
    ],
    &[
        "换个思路再试一次。",
        "可能是旧的设置还在起作用。",
        "先从描述开始看。",
        "奇怪，刚才看起来没有问题。",
        "这一步也许来得太早了。",
        "现在应该可以了。",
    ],
];

fn tongue(case: &mut Case, dice: &mut Dice) {
    let before = dice.roll(7);
    case.prelude(dice, before);
    case.stuck = Some((before, 1));
    let said = TONGUES[dice.roll(TONGUES.len())];
    let text = texts::error(dice, &case.project);
    for _ in 0..LOOP {
        let text = format!("{} {}\n{text}", dice.pick(said), dice.pick(said));
        case.push(dice, &text, &["c".to_owned()], "s", true);
    }
}

/// Two sentences that differ around an error of a few words.
fn tiny_error(case: &mut Case, dice: &mut Dice) {
    let before = dice.roll(7);
    case.prelude(dice, before);
    case.stuck = Some((before, 1));
    let name = case.project.name(dice);
    let error = match dice.roll(4) {
        0 => "Exit code 134\n".to_owned(),
        1 => "Segmentation fault (core dumped)\n".to_owned(),
        2 => format!("{name}: command not found\nexit status 127\n"),
        _ => format!("error: could not compile `{name}`\n"),
    };
    for n in 0..LOOP {
        let text = paraphrased(dice, &error);
        case.push(dice, &text, &[format!("!{n}"), "check".to_owned()], &format!("s{n}"), true);
    }
}

fn rules(case: &Case, dice: &mut Dice) -> String {
    let rule = |_| {
        format!(
            "- {} before {}, see {}\n",
            case.project.name(dice),
            case.project.name(dice),
            case.project.file(dice)
        )
    };
    (0..25).map(rule).collect()
}

fn loop_between_rules(case: &mut Case, dice: &mut Dice) {
    let (before, rules) = (3 + dice.roll(4), rules(case, dice));
    for n in 0..before {
        let text = format!("{rules}{}", texts::work(dice, &case.project));
        case.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
    }
    case.stuck = Some((before, 1));
    let text = texts::error(dice, &case.project);
    for _ in 0..LOOP {
        let text = format!("{rules}{}", paraphrased(dice, &text));
        case.push(dice, &text, &["c".to_owned()], "s", true);
    }
}

fn idle_tongue(case: &mut Case, dice: &mut Dice) {
    const SAID: &[&[&str]] = &[
        &[
            "Die Liste ist leer, es bleibt nichts zu tun.",
            "Alle Punkte sind bereits umgesetzt.",
            "Keine offenen Aufgaben mehr vorhanden.",
            "Das Projekt ist vollständig fertig, ich habe nichts geändert.",
        ],
        &[
            "La lista está vacía, no queda nada por hacer.",
            "Todos los puntos ya están completos.",
            "No hay tareas pendientes.",
            "Todo está terminado, sin cambios esta vez.",
        ],
        &["清单上的任务已经全部完成。", "没有需要修改的地方。", "所有工作都已结束。", "没有待办的事情。"],
    ];
    let before = dice.roll(7);
    case.prelude(dice, before);
    case.stuck = Some((before, 1));
    let said = SAID[dice.roll(SAID.len())];
    for _ in 0..LOOP {
        let text = format!("{}\n", dice.pick(said));
        case.push(dice, &text, &[], "s", false);
    }
}

/// The same long rules before each one, and one sentence that names something.
fn sentence(case: &mut Case, dice: &mut Dice) {
    let rules = rules(case, dice);
    for n in 0..9 {
        let (name, file) = (case.project.name(dice), case.project.file(dice));
        let text = format!("{rules}Now {name}_{n} in {file}.{} is covered.\n", case.project.name(dice));
        case.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
    }
}

/// Of a long list of what fails, the first few are shown.
fn window(case: &mut Case, dice: &mut Dice) {
    let names: Vec<String> = (0..24).map(|n| format!("{}_{n}", case.project.name(dice))).collect();
    let form = dice.roll(4);
    for n in 0..9 {
        let line = |name: &String| match form {
            0 => format!("FAILED {name}\n"),
            1 => format!("  × {name}\n"),
            2 => format!("* {name}: still broken\n"),
            _ => format!("test {name} ... FAILED\n"),
        };
        let text: String = names.iter().skip(n).take(10).map(line).collect();
        case.push(
            dice,
            &format!("Still red:\n{text}"),
            &[format!("!{n}"), "check".to_owned()],
            &format!("t{n}"),
            true,
        );
    }
}

/// A list of steps without a name in it, in several notations.
fn marks(case: &mut Case, dice: &mut Dice) {
    const STEPS: &[&str] = &[
        "the login page",
        "the search page",
        "the billing page",
        "the start page",
        "the export dialog",
        "the import dialog",
        "the print dialog",
        "the settings menu",
        "the help menu",
        "the user menu",
        "the first report",
        "the last report",
    ];
    const FORMS: &[(&str, &str)] = &[
        ("| # | ✓ |", "| # | |"),
        ("~~#~~", "#"),
        ("(x) #", "( ) #"),
        ("[DONE] #", "[TODO] #"),
        ("#: done", "#: pending"),
        ("🟢 #", "🔴 #"),
        ("\"#\": \"completed\"", "\"#\": \"in_progress\""),
    ];
    let (done, open) = FORMS[dice.roll(FORMS.len())];
    for n in 1..10 {
        let line =
            |(at, step): (usize, &&str)| format!("{}\n", if at < n { done } else { open }.replace('#', step));
        let text: String = STEPS.iter().enumerate().map(line).collect();
        case.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
    }
}

/// A job that goes through its phases while the agent looks.
fn phase(case: &mut Case, dice: &mut Dice) {
    const PHASES: &[&str] = &[
        "queued",
        "fetching",
        "unpacking",
        "compiling",
        "linking",
        "packing",
        "signing",
        "uploading",
        "verifying",
    ];
    let name = case.project.name(dice);
    for phase in PHASES {
        case.push(dice, &format!("$ jobs show {name}\nphase: {phase}\n"), &["look".to_owned()], "s", false);
    }
}

/// One name after the other in one file.
fn rename(case: &mut Case, dice: &mut Dice) {
    let file = case.project.file(dice);
    for n in 0..9 {
        let (old, new) = (case.project.name(dice), case.project.name(dice));
        let text = format!(
            "[edit] {file}\n-    {old}_{n}(context)\n+    {new}_{n}(context)\nThe file has been updated.\n"
        );
        case.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
    }
}

fn terse(case: &mut Case, dice: &mut Dice) {
    const DONE: &[&str] = &["Fix", "Add", "Drop", "Move", "Guard", "Inline"];
    const PARTS: &[&str] =
        &["parser", "lexer", "mailer", "walker", "router", "logger", "cache", "menu", "footer"];
    const THINGS: &[&str] = &["timeout", "leak", "cursor", "margin", "color", "label", "border"];
    case.frame = 0;
    for (n, part) in PARTS.iter().enumerate() {
        let text = format!("{} the {part} {}\n", dice.pick(DONE), dice.pick(THINGS));
        case.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
    }
}

/// The same words, and a better figure each time.
fn tuning(case: &mut Case, dice: &mut Dice) {
    let (form, mut figure) = (dice.roll(4), 900 + dice.roll(900));
    for n in 0..8 {
        let line = match form {
            0 => format!("Benchmark: {figure} ns/op"),
            1 => format!("throughput: {} req/s", 4_000 - figure),
            2 => format!("score 0.{}", 4_000 - figure),
            _ => format!("bundle of {} modules", figure / 10),
        };
        let text = format!("Tried another layout of the table and kept it.\n{line}\n");
        case.push(dice, &text, &[format!("!{n}"), "bench".to_owned()], &format!("t{n}"), false);
        figure -= figure * (3 + dice.roll(12)) / 100;
    }
}

/// Another edit each time and the same check, which passes; the words do not tell what was done.
fn same_check(case: &mut Case, dice: &mut Dice) {
    case.tools = true;
    let command = case.project.command(dice);
    for n in 0..9 {
        let text = format!("One more of them is converted.\n$ {command}\nall good ({{took}})\n");
        case.push(dice, &text, &[format!("!{n}"), "check".to_owned()], &format!("t{n}"), false);
    }
}

/// A service that is down for some iterations is no loop.
fn outage(case: &mut Case, dice: &mut Dice) {
    case.frame = 0;
    case.prelude(dice, 3);
    let text = match dice.roll(3) {
        0 => "API Error: 529 {\"type\":\"overloaded_error\"}\n",
        1 => "Error: 429 Too Many Requests, rate limit reached\n",
        _ => "You have hit your usage limit. It resets at 3am.\n",
    };
    for _ in 0..5 {
        case.push(dice, text, &[], "s", true);
    }
    case.prelude(dice, 3);
}
