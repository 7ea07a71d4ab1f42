//! Fields that differ from run to run, filled anew each time a text is printed.
//!
//! Apart from the texts that hold them.

use super::Dice;

/// Fills the fields of a text.
pub fn filled(dice: &mut Dice, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(end) = rest.find('}') else { break };
        match field(dice, &rest[1..end]) {
            Some(value) => {
                out.push_str(&value);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn field(dice: &mut Dice, name: &str) -> Option<String> {
    let hex = b"0123456789abcdef";
    let (h, m, s) = (dice.roll(24), dice.roll(60), dice.roll(60));
    Some(match name {
        "time" => match dice.roll(8) {
            0 => format!(
                "2026-0{}-{:02}T{h:02}:{m:02}:{s:02}.{:03}+02:00",
                1 + dice.roll(9),
                1 + dice.roll(28),
                dice.roll(1000)
            ),
            1 => format!("{h:02}:{m:02}:{s:02}"),
            2 => format!("Nov {:2} {h:02}:{m:02}:{s:02}", 1 + dice.roll(30)),
            3 => format!("Tue, {:02} Mar 2026 {h:02}:{m:02}:{s:02} GMT", 1 + dice.roll(28)),
            4 => format!(
                "{}/{}/2026, {}:{m:02}:{s:02} PM",
                1 + dice.roll(12),
                1 + dice.roll(28),
                1 + dice.roll(12)
            ),
            5 => format!("{:02}.{:02}.2026 {h:02}:{m:02}", 1 + dice.roll(28), 1 + dice.roll(12)),
            6 => format!("2026年{}月{}日 {h:02}:{m:02}:{s:02}", 1 + dice.roll(12), 1 + dice.roll(28)),
            _ => format!("{}", 1_760_000_000_000u64 + dice.roll(1_000_000_000) as u64),
        },
        "took" => match dice.roll(7) {
            0 => format!("{}.{:02}s", dice.roll(90), dice.roll(100)),
            1 => format!("{} ms", dice.roll(9000)),
            2 => format!("{}m{:02}s", dice.roll(9), dice.roll(60)),
            3 => format!("{} seconds", dice.roll(90)),
            4 => format!("PT{}M{}S", dice.roll(9), dice.roll(60)),
            5 => format!("{}.{} minutes", dice.roll(20), dice.roll(10)),
            _ => format!("00:{m:02}:{s:02}"),
        },
        "id" => match dice.roll(8) {
            0 => dice.text(hex, 40),
            1 => dice.text(hex, 7),
            2 => format!("req_{}", dice.text(b"ABCDEFGHJKMNPQRSTVWXYZ0123456789", 24)),
            3 => format!("0x7f{}", dice.text(hex, 10)),
            4 => dice.text(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26),
            5 => format!(
                "toolu_01{}",
                dice.text(b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ123456789", 22)
            ),
            6 => format!("sha256:{}", dice.text(hex, 64)),
            _ => {
                let part = |dice: &mut Dice, n| dice.text(hex, n);
                let (a, b, c, d, e) =
                    (part(dice, 8), part(dice, 4), part(dice, 4), part(dice, 4), part(dice, 12));
                format!("{a}-{b}-{c}-{d}-{e}")
            }
        },
        "line" => (1 + dice.roll(900)).to_string(),
        "temp" => match dice.roll(4) {
            0 => format!("/var/folders/zz/{}/T/build-{}", dice.text(hex, 12), dice.text(hex, 10)),
            1 => format!("/tmp/tmp.{}", dice.text(b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ", 10)),
            2 => format!("/tmp/go-build{}", 1_000_000 + dice.roll(9_000_000)),
            _ => format!("/tmp/pytest-of-dev/pytest-{}", dice.roll(900)),
        },
        "pid" => (300 + dice.roll(60_000)).to_string(),
        "size" => format!("{}.{} {}", dice.roll(900), dice.roll(10), dice.pick(&["kB", "MB", "KiB"])),
        "cost" => format!("${}.{:04}", dice.roll(3), dice.roll(10_000)),
        _ => return None,
    })
}
