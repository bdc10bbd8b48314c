//! What an agent may spend: steps, tokens, money and time; alone, or with its children.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::{Cost, Prices, Usage};
use serde::{Deserialize, Serialize};

/// The most that one task may take. What is not given is not bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// Answers of the model.
    pub steps: u32,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Money. Needs prices.
    pub money: Option<Cost>,
    /// Time, from the beginning of the task.
    pub time: Option<Duration>,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { steps: 50, tokens: None, money: None, time: None }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Answers of the model.
    pub steps: u32,
    /// Tokens.
    pub usage: Usage,
    /// Money, as far as prices are known.
    pub cost: Option<Cost>,
}

/// The budget that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// Of steps.
    Steps,
    /// Of tokens.
    Tokens,
    /// Of money.
    Money,
    /// Of time.
    Time,
}

impl Exhausted {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Time => "time",
        }
    }
}

impl Spent {
    /// Adds an answer.
    pub fn add(&mut self, usage: &Usage, prices: Option<&Prices>) {
        self.steps = self.steps.saturating_add(1);
        self.usage.add(usage);
        self.cost = prices.map(|prices| prices.of(&self.usage));
    }

    /// The budget that leaves no room for another step.
    pub fn exhausts(&self, budgets: &Budgets, since: Duration) -> Option<Exhausted> {
        if self.steps >= budgets.steps {
            return Some(Exhausted::Steps);
        }
        if budgets.tokens.is_some_and(|most| self.usage.total() >= most) {
            return Some(Exhausted::Tokens);
        }
        // Money that cannot be counted counts as spent: a bound that nothing holds is none.
        let is_spent = |most: Cost| self.steps > 0 && self.cost.is_none_or(|cost| cost >= most);
        if budgets.money.is_some_and(is_spent) {
            return Some(Exhausted::Money);
        }
        budgets.time.is_some_and(|most| since >= most).then_some(Exhausted::Time)
    }
}

/// What a tree of agents may spend together: the agent that a person started and all below it.
#[derive(Debug)]
pub struct Purse {
    state: Mutex<(Budgets, Instant, Spent)>,
}

impl Purse {
    /// One with nothing spent.
    pub fn new(budgets: Budgets) -> Self {
        Self { state: Mutex::new((budgets, Instant::now(), Spent::default())) }
    }

    /// Begins with another task.
    pub fn renew(&self) {
        let mut state = self.lock();
        (state.1, state.2) = (Instant::now(), Spent::default());
    }

    /// Adds an answer, of whichever agent.
    pub fn add(&self, usage: &Usage, prices: Option<&Prices>) {
        self.lock().2.add(usage, prices);
    }

    /// The budget that leaves nobody room for another step.
    pub fn exhausted(&self) -> Option<Exhausted> {
        let (budgets, began, spent) = &*self.lock();
        spent.exhausts(budgets, began.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, (Budgets, Instant, Spent)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
