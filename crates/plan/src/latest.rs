//! The last few of something, so that what many starts have in common is not worked out for each.
//! Bounded in number and in weight, whatever is put in.

/// The last few.
#[derive(Debug)]
pub(crate) struct Latest<T> {
    first: Option<Weighed<T>>,
    /// The latest first.
    others: Vec<Weighed<T>>,
}

#[derive(Debug)]
struct Weighed<T> {
    weight: usize,
    value: T,
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self { first: None, others: Vec::new() }
    }
}

impl<T> Latest<T> {
    /// Takes out the latest that is the right one.
    pub(crate) fn take(&mut self, is_right: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(first) = self.first.take_if(|first| is_right(&first.value)) {
            return Some(first.value);
        }
        let position = self.others.iter().position(|other| is_right(&other.value))?;
        Some(self.others.remove(position).value)
    }

    /// The one that was put in last, unless it was taken out.
    pub(crate) fn last_put(&mut self) -> Option<&mut T> {
        self.first.as_mut().map(|first| &mut first.value)
    }

    /// Puts in one more, for which others may have to go. One that is too heavy is given back.
    pub(crate) fn put(&mut self, weight: usize, value: T) -> Result<&mut T, T> {
        if weight > MOST_WEIGHT {
            return Err(value);
        }
        if let Some(first) = self.first.take() {
            self.others.insert(0, first);
        }
        self.others.truncate(MOST - 1);
        while weight + self.others.iter().map(|other| other.weight).sum::<usize>() > MOST_WEIGHT {
            self.others.pop();
        }
        Ok(&mut self.first.insert(Weighed { weight, value }).value)
    }
}

/// How many there are.
const MOST: usize = 4;

/// Bytes of all their texts together: room for some three thousand grants.
pub(crate) const MOST_WEIGHT: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
