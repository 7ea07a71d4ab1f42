//! The few words that mean something to the detectors. What a word list cannot know is left to the structure of the text.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a word says, as bits: one word may say several things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sense(u32);

impl Sense {
    /// A number beside it tells how far the work is.
    pub(super) const PROGRESS: Sense = Sense(1);
    /// A number beside it counts tries, not work.
    pub(super) const TRY: Sense = Sense(2);
    /// A number beside it is noise: a size, a price, a process.
    pub(super) const NOISE: Sense = Sense(4);
    /// Something went wrong.
    pub(super) const ERROR: Sense = Sense(8);
    /// "All", "already": with [`Sense::DONE`] it says that there is nothing to do.
    pub(super) const WHOLE: Sense = Sense(16);
    pub(super) const DONE: Sense = Sense(32);
    /// "No", "nothing": with [`Sense::WORK`] it says the same.
    pub(super) const NONE: Sense = Sense(8192);
    pub(super) const WORK: Sense = Sense(16384);
    /// A service is overloaded or refuses more.
    pub(super) const OUTAGE: Sense = Sense(32768);
    /// The same, with [`Sense::LIMIT`]: "rate limit", "too many requests".
    pub(super) const LIMITED: Sense = Sense(65536);
    pub(super) const LIMIT: Sense = Sense(131_072);
    /// Something else is still going on.
    pub(super) const WAIT: Sense = Sense(64);
    /// Says nothing by itself.
    pub(super) const FILLER: Sense = Sense(128);
    /// The agent announces work of its own.
    pub(super) const ACT: Sense = Sense(256);
    /// A unit of size.
    pub(super) const SIZE: Sense = Sense(512);
    /// A unit of time: with the number before it one duration.
    pub(super) const UNIT: Sense = Sense(1024);
    /// Something was done, by the form of the word.
    pub(super) const DEED: Sense = Sense(4096);
    /// Part of a date if a number is beside it.
    pub(super) const CALENDAR: Sense = Sense(2048);
    /// The agent cannot go on.
    pub(super) const BLOCKED: Sense = Sense(1 << 18);
    /// What only a person can give: with [`Sense::NEED`] it says the same.
    pub(super) const PERSON: Sense = Sense(1 << 19);
    pub(super) const NEED: Sense = Sense(1 << 20);

    pub(super) fn is(self, other: Sense) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn and(self, other: Sense) -> Sense {
        Sense(self.0 | other.0)
    }

    /// The sense of a word in lower case.
    pub(super) fn of(word: &str) -> Sense {
        let sense = KNOWN.get(word).copied().unwrap_or_default();
        let deed = word.len() > 4 && word.ends_with("ed");
        let sense = if deed { sense.and(Sense::DEED) } else { sense };
        let stem = STEMS.iter().find(|(_, stems)| stems.iter().any(|stem| word.starts_with(stem)));
        stem.map_or(sense, |(meaning, _)| sense.and(*meaning))
    }
}

/// What a sentence says in a script without spaces: the senses of all words in it.
pub(super) fn in_signs(sentence: &str) -> Sense {
    let words = KNOWN.iter().filter(|(word, _)| !word.starts_with(|c: char| u32::from(c) < 0x2e80));
    let found = words.filter(|(word, _)| sentence.contains(**word));
    found.fold(Sense::default(), |all, (_, sense)| all.and(*sense))
}

static KNOWN: LazyLock<HashMap<&str, Sense>> = LazyLock::new(|| {
    let mut known: HashMap<&str, Sense> = HashMap::new();
    for (sense, words) in WORDS {
        for word in words.split_whitespace() {
            let all = known.entry(word).or_default();
            *all = all.and(*sense);
        }
    }
    known
});

/// Words by their sense, in several languages.
const WORDS: &[(Sense, &str)] = &[
    (
        Sense::PROGRESS,
        "passed passing pass passes ok failed failing fail fails failure failures error errors warning \
         warnings problem problems issue issues remaining remain remains left done complete completed \
         finished todo todos pending open closed skipped tests test specs examples assertions suites progress \
         coverage covered total processed resolved unresolved fixed broken violations mismatches succeeded \
         successful ready outstanding unfinished red green 已完 完成 成功 剩余 还剩 通过 失败 verbleibend fehlgeschlagen \
         restantes quedan faltan",
    ),
    (
        Sense::TRY,
        "iteration iterations iter loop loops attempt attempts try tries retry retries turn turns round \
         rounds cycle cycles run runs retrying session invocation tick lap",
    ),
    (
        Sense::NOISE,
        "line lines col column offset limit token tokens usd eur cost price spent budget pid port ppid tid \
         thread goroutine seed duration elapsed uptime took time timeout memory mem rss heap cpu load latency \
         speed rate eta age ago more context ctx used usage quota timestamp epoch_ms nonce delay backoff \
         sleeping zeile spalte dauer línea ligne durée 行 列 耗时 用时",
    ),
    (
        Sense::UNIT.and(Sense::NOISE),
        "ms s sec secs second seconds min mins minute minutes h hr hrs hour hours us µs ns millis \
         milliseconds microseconds nanoseconds sekunde sekunden minuten stunden segundo segundos minutos \
         horas seconde secondes heures 秒 分 分钟 毫秒 小时 时 点",
    ),
    (
        Sense::CALENDAR.and(Sense::NOISE),
        "jan feb mar apr may jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun january february \
         march april june july august september october november december monday tuesday wednesday thursday \
         friday saturday sunday utc gmt cet cest est edt pst pdt am pm uhr januar februar märz mai juni juli \
         oktober dezember enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre \
         diciembre janvier février mars avril juin juillet août septembre octobre novembre décembre 年 月 日",
    ),
    (
        Sense::WHOLE,
        "all every everything each already fully entire whole entirely only full final work project plan job \
         exhausted empty unchanged alle alles bereits vollständig schon todo todos todas toda ya tout toutes \
         tous déjà tudo já 所有 全部 一切 已经 都已 均已 すべて",
    ),
    (
        Sense::DONE,
        "done complete completed completion finished implemented delivered shipped satisfied checked ticked \
         resolved clean closed exhausted empty addressed place committed merged met fulfilled backlog reached \
         achieved taken handled covered state date erledigt fertig umgesetzt abgeschlossen implementiert \
         completo completa completos completas completado completada completadas terminado terminada \
         terminadas implementado implementada hecho listo terminé terminée terminées fini complet concluído \
         concluída concluídas pronto feito 完成 实现 结束 完了",
    ),
    (
        Sense::NONE,
        "nothing no none not any zero without isn't aren't don't doesn't wasn't weren't neither never \
         couldn't didn't can't nichts kein keine keinen keinerlei nada ningún ninguna ninguno sin rien aucun \
         aucune nenhum nenhuma 没有 无需 不需 未发现 沒有 なし",
    ),
    (
        Sense::WORK,
        "remaining remain remains left pending outstanding open needed need needs required requires necessary \
         further do unfinished incomplete actionable backlog todo todos add change changes work task tasks \
         action additional modifications modify edits report else commit story stories tun offen offene \
         offenen weiteren weitere nötig geändert änderungen aufgaben hacer queda quedan pendiente pendientes \
         cambios requieren tareas faire reste tâche tâches modification fazer pendente pendentes tarefas 任务 \
         更改 修改 事情 项目 未完成 待办 工作",
    ),
    (
        Sense::WAIT,
        "waiting wait waits awaiting await polling poll polled queued sleeping sleep monitoring in_progress \
         meanwhile",
    ),
    (
        Sense::FILLER,
        "the and that this with for from are was were have has had been will would can could should its it's \
         i'll i'm let let's now then than also but you your our their they them these those there here what \
         when where which while who why how into onto over under again once more most some such only just \
         very still same other another first next last before after because since about see look looking make \
         sure get use using used one two may might does did out off",
    ),
    (
        Sense::ACT,
        "added created wrote written edited modified updated changed refactored renamed moved removed deleted \
         migrated converted replaced installed fixed implementing adding creating writing editing updating \
         fixing yet next continuing hinzugefügt behoben añadido corregido 添加 修复",
    ),
    (
        Sense::BLOCKED,
        "blocked blocker blocking blockiert bloqueado bloqueada bloqué bloquée bloccato bloqueio 阻塞 受阻 卡住 ブロック",
    ),
    (
        Sense::PERSON,
        "permission permissions approval approve grant granted human humans user operator intervention \
         credentials confirmation decision instruction instructions command guidance login token berechtigung \
         berechtigungen genehmigung freigabe zustimmung anweisung anweisungen benutzer nutzer mensch permiso \
         permisos aprobación usuario instrucciones confirmación autorisation permission validation utilisateur \
         consigne instructions permissão aprovação usuário 权限 授权 批准 指令 命令 指示 用户 许可 承認 許可",
    ),
    (
        Sense::NEED,
        "need needs needed require requires required cannot can't unable waiting wait await awaiting awaits \
         pending until proceed standing stuck benötige benötigt brauche warte warten wartet erforderlich \
         necesito necesita espero esperando esperar requiere besoin attends attente nécessaire preciso \
         aguardando aguardo 等待 等你 等您 需要 无法 不能 未获 待ち",
    ),
    (Sense::OUTAGE, "overloaded overloaded_error throttled throttling ratelimit rate_limit rate_limit_error"),
    (Sense::LIMITED, "rate usage quota hit resets"),
    (Sense::LIMIT, "limit limits limited exceeded exhausted"),
];

const STEMS: &[(Sense, &[&str])] = &[
    (
        Sense::ERROR,
        &["error", "exception", "panic", "fatal", "traceback", "failed", "failure", "cannot", "undefined"],
    ),
    (
        Sense::ERROR,
        &[
            "fail",
            "reject",
            "denied",
            "invalid",
            "unexpected",
            "unresolved",
            "abort",
            "segfault",
            "segmentation",
            "refused",
            "crash",
            "unable",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_say_several_things() {
        let failed = Sense::of("failed");
        assert!(failed.is(Sense::PROGRESS) && failed.is(Sense::ERROR) && !failed.is(Sense::WAIT));
        assert_eq!(Sense::of("marshmallow"), Sense::default());
    }
}
