//! The compiler from the outside: what it promises, what examples become, and that bubblewrap can
//! run the result.

#[cfg(test)]
mod bubblewrap;
#[cfg(test)]
mod fake_host;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod own_part;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod rendered;
