//! Manifests from the outside: what calls of them compile to, on the made-up host of the compiler's
//! tests.

// The files of the compiler's tests know the policy by the name of its package.
#[cfg(test)]
extern crate policy as stockade_policy;

#[cfg(test)]
mod calls;
#[cfg(test)]
mod document;
#[cfg(test)]
#[path = "../../../policy/tests/compiler/fake_host.rs"]
mod fake_host;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod levels;
#[cfg(test)]
mod narrowing;
#[cfg(test)]
#[path = "../../../policy/tests/compiler/own_part.rs"]
mod own_part;
#[cfg(test)]
mod page;
#[cfg(test)]
mod properties;
#[cfg(test)]
#[path = "../../../policy/tests/compiler/rendered.rs"]
mod rendered;
