//! The table of a proof: each attack, what its twin did, what the cage made of it. Data, as text and
//! as JSON; judges nothing but what it is given.

use std::fmt;

use attacks::{Attack, Outcome};
use attacks::{Proof, Twin};
use serde::{Serialize, Serializer};

use crate::Scenario;
use crate::prove::{Profile, Trial};

/// The result of a proof. As data it also says `held`, so that nobody has to judge the rows anew.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each attack.
    pub rows: Vec<Row>,
    /// Harm that no single attack accounts for.
    pub unexplained: Vec<String>,
}

/// One attack.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The line of SPECIFICATION.md that it belongs to.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it tries.
    pub summary: &'static str,
    /// Whether it worked where nothing confines it.
    pub twin: Judgement,
    /// Whether each profile's cage held it off.
    pub cages: Vec<InCage>,
    /// Why a cage is not expected to hold it off, where that is so.
    pub not_defended: Option<&'static str>,
}

/// What one profile's cage made of an attack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InCage {
    /// Which profile.
    pub profile: Profile,
    /// What came of it.
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// What is to be thought of an attack in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "judgement", content = "detail", rename_all = "snake_case")]
pub enum Judgement {
    /// The attack went through: right for a twin, a breach for a cage.
    WentThrough(String),
    /// The attack was held off: right for a cage.
    Held(String),
    /// It cannot be tried, or not be shown, on this host.
    NotHere(String),
    /// It says nothing: it hung, crashed, or did not work where it should.
    Broken(String),
}

impl Row {
    pub(crate) fn of_attack<'a>(
        attack: &'static Attack,
        twin: &Trial,
        cages: impl Iterator<Item = (Profile, &'a Trial)>,
    ) -> Self {
        Self {
            id: attack.id,
            name: attack.name,
            summary: attack.summary,
            twin: judge_twin(attack.twin, attack.proof, twin),
            cages: cages
                .map(|(profile, trial)| InCage { profile, judgement: judge_cage(trial) })
                .collect(),
            not_defended: None,
        }
    }

    pub(crate) fn of_scenario(
        scenario: &'static Scenario,
        twin: &Outcome,
        caged: Option<&Outcome>,
    ) -> Self {
        let as_trial =
            |outcome: &Outcome| Trial { outcome: outcome.clone(), harm: None, secret: None };
        let caged = caged.map(|outcome| InCage {
            profile: Profile::Default,
            judgement: judge_cage(&as_trial(outcome)),
        });
        Self {
            id: scenario.id,
            name: scenario.name,
            summary: scenario.summary,
            twin: judge_twin(scenario.twin, Proof::OwnReport, &as_trial(twin)),
            cages: caged.into_iter().collect(),
            not_defended: scenario.not_defended,
        }
    }

    /// Whether this attack shows a wall that holds, or at least none that does not.
    pub fn is_well(&self) -> bool {
        let twin = matches!(self.twin, Judgement::WentThrough(_) | Judgement::NotHere(_));
        twin && self.cages.iter().all(|cell| match cell.judgement {
            Judgement::Held(_) | Judgement::NotHere(_) => true,
            Judgement::WentThrough(_) => self.not_defended.is_some(),
            Judgement::Broken(_) => false,
        })
    }

    /// Whether it went through, as was known.
    pub fn is_known_weakness(&self) -> bool {
        let went_through = |cell: &InCage| matches!(cell.judgement, Judgement::WentThrough(_));
        self.not_defended.is_some() && self.cages.iter().any(went_through)
    }

    fn word_in(&self, profile: Profile) -> &'static str {
        let cell = self.cages.iter().find(|cell| cell.profile == profile);
        match cell.map(|cell| &cell.judgement) {
            None => "-",
            Some(Judgement::WentThrough(_)) if self.not_defended.is_some() => "known",
            Some(judgement) => judgement.as_cage(),
        }
    }
}

impl Report {
    /// Whether every wall held and every attack was a real one.
    pub fn all_held(&self) -> bool {
        self.unexplained.is_empty() && self.rows.iter().all(Row::is_well)
    }

    /// The attacks that went through, and those that say nothing.
    pub fn failures(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.is_well())
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            held: bool,
            rows: &'a [Row],
            unexplained: &'a [String],
        }
        Whole { held: self.all_held(), rows: &self.rows, unexplained: &self.unexplained }
            .serialize(serializer)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profiles: Vec<Profile> = [Profile::Default, Profile::Relaxed]
            .into_iter()
            .filter(|profile| self.has(*profile))
            .collect();
        write!(formatter, "{:<4} {:<38} {:<8}", "id", "attack", "uncaged")?;
        for profile in &profiles {
            write!(formatter, " {:<9}", profile.name())?;
        }
        writeln!(formatter)?;
        for row in &self.rows {
            write!(formatter, "{:<4} {:<38} {:<8}", row.id, row.name, row.twin.as_twin())?;
            for profile in &profiles {
                write!(formatter, " {:<9}", row.word_in(*profile))?;
            }
            writeln!(formatter, "{}", if row.is_well() { "" } else { " <<" })?;
        }
        for row in self.failures() {
            writeln!(formatter, "\n{} {}: {}", row.id, row.name, row.summary)?;
            writeln!(formatter, "  uncaged: {} ({})", row.twin.as_twin(), row.twin.detail())?;
            for cell in &row.cages {
                let (word, detail) = (cell.judgement.as_cage(), cell.judgement.detail());
                writeln!(formatter, "  {}: {word} ({detail})", cell.profile.name())?;
            }
        }
        for row in self.rows.iter().filter(|row| row.is_known_weakness()) {
            let why = row.not_defended.unwrap_or_default();
            writeln!(formatter, "\n{} {}: not defended: {why}", row.id, row.name)?;
        }
        for harm in &self.unexplained {
            writeln!(formatter, "\nunexplained: {harm}")?;
        }
        let not_here = |row: &&Row| matches!(row.twin, Judgement::NotHere(_));
        write!(
            formatter,
            "\n{} attacks, {} of them cannot be shown to work here, {} failed",
            self.rows.len(),
            self.rows.iter().filter(not_here).count(),
            self.failures().count() + self.unexplained.len(),
        )
    }
}

impl Report {
    /// By line of the list, and within one in the catalogue's order.
    pub(crate) fn sort(&mut self) {
        let names = attacks::all().map(|attack| attack.name);
        let names: Vec<&str> =
            names.chain(crate::scenarios().map(|scenario| scenario.name)).collect();
        self.rows.sort_by_key(|row| {
            let line = row.id.get(1..).and_then(|id| id.parse::<u32>().ok());
            (line, names.iter().position(|name| *name == row.name))
        });
    }

    fn has(&self, profile: Profile) -> bool {
        self.rows.iter().any(|row| row.cages.iter().any(|cell| cell.profile == profile))
    }
}

impl Judgement {
    /// The word for a twin's column.
    pub fn as_twin(&self) -> &'static str {
        match self {
            Self::WentThrough(_) => "works",
            Self::Held(_) | Self::Broken(_) => "broken",
            Self::NotHere(_) => "not here",
        }
    }

    /// The word for a cage's column.
    pub fn as_cage(&self) -> &'static str {
        match self {
            Self::WentThrough(_) => "BREACHED",
            Self::Held(_) => "held",
            Self::NotHere(_) => "not here",
            Self::Broken(_) => "broken",
        }
    }

    /// What stands behind the word.
    pub fn detail(&self) -> &str {
        match self {
            Self::WentThrough(text)
            | Self::Held(text)
            | Self::NotHere(text)
            | Self::Broken(text) => text,
        }
    }
}

/// A twin must have gone through, with the proof that its attack asks for.
fn judge_twin(twin: Twin, proof: Proof, trial: &Trial) -> Judgement {
    if let Outcome::NotApplicable(reason) = &trial.outcome {
        return Judgement::NotHere(reason.clone());
    }
    let proven = match proof {
        Proof::OwnReport => matches!(trial.outcome, Outcome::Succeeded(_)),
        Proof::Secret => matches!(trial.outcome, Outcome::Succeeded(_)) && trial.secret.is_some(),
        Proof::Harm => trial.harm.is_some(),
    };
    let detail = trial.outcome.detail();
    if proven {
        return Judgement::WentThrough(trial.harm.clone().unwrap_or_else(|| detail.to_owned()));
    }
    let unprivileged = !rustix::process::geteuid().is_root();
    match &trial.outcome {
        Outcome::Failed(_) if MISSING.iter().any(|word| detail.ends_with(word)) => {
            Judgement::NotHere(format!("this kernel has it not: {detail}"))
        }
        Outcome::Failed(_) if twin == Twin::Root && unprivileged => {
            Judgement::NotHere(format!("only root can: {detail}"))
        }
        Outcome::Failed(_) if twin == Twin::Root && detail.contains("ENOENT") => {
            Judgement::NotHere(format!("this kernel has it not: {detail}"))
        }
        _ => Judgement::Broken(format!("did not work uncaged: {detail}")),
    }
}

/// Any secret, mark or success is a breach, whatever else the attack says.
fn judge_cage(trial: &Trial) -> Judgement {
    let detail = trial.outcome.detail().to_owned();
    if let Some(harm) = &trial.harm {
        return Judgement::WentThrough(harm.clone());
    }
    if trial.secret.is_some() {
        return Judgement::WentThrough(format!("a secret came out: {detail}"));
    }
    match &trial.outcome {
        Outcome::Succeeded(_) => Judgement::WentThrough(detail),
        Outcome::Attempted(_) => Judgement::Held(format!("{detail}, without effect")),
        Outcome::Failed(_) => Judgement::Held(detail),
        Outcome::NotApplicable(_) => Judgement::NotHere(detail),
        Outcome::Broken(_) => Judgement::Broken(detail),
    }
}

/// How a kernel answers that was built without something.
const MISSING: &[&str] = &["ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"];

#[cfg(test)]
mod tests;
