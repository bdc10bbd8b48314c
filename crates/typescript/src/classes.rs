//! Classes: what is there for the checker alone becomes blank, member by member.

use super::lexer::Kind;
use super::patterns::{Body, Parameters};
use super::{Read, Stripper};

/// What stands before the name of a member.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    /// Nothing of it is there when the program runs.
    is_declared: bool,
    /// `get`, `set`, `async` or `*`: it is no field.
    is_method: bool,
}

impl Stripper<'_> {
    /// `@a @b.c(d)`
    pub(super) fn decorators(&mut self) -> Read {
        while self.take("@") {
            self.operand_of_decorator()?;
        }
        Ok(())
    }

    /// From the word `class` to the end of its body.
    pub(super) fn class(&mut self) -> Read {
        self.expect("class")?;
        if self.is_word() && !self.is_any(&["extends", "implements"]) {
            self.advance();
        }
        self.type_parameters()?;
        if self.take("extends") {
            self.within_brackets(Self::operand)?;
            let start = self.token.start;
            if self.is("<") {
                self.type_arguments()?;
                self.blank_from(start);
            }
        }
        let start = self.token.start;
        if self.take("implements") {
            self.types_in_a_row()?;
            self.blank_from(start);
        }
        self.expect("{")?;
        while !self.is("}") {
            if self.token.kind == Kind::End {
                return self.expected("}");
            }
            self.deeper(|this| this.within_brackets(Self::member))?;
        }
        self.expect("}")
    }

    fn member(&mut self) -> Read {
        if self.take(";") {
            return Ok(());
        }
        self.decorators()?;
        let start = self.token.start;
        if self.is("static") && self.ahead_is("{") {
            self.advance();
            return self.block();
        }
        let modifiers = self.modifiers(start);
        if self.is_index() {
            self.brackets()?;
            self.expect(":")?;
            self.type_()?;
            self.end_of_statement();
            self.blank_statement(start);
            return Ok(());
        }
        let is_constructor = self.is("constructor");
        self.key()?;
        if self.is_any(&["?", "!"]) {
            self.blank_token();
        }
        if self.is_any(&["(", "<"]) {
            let of = match is_constructor {
                true => Parameters::OfConstructor,
                false => Parameters::OfFunction,
            };
            if self.function_rest(of)? == Body::Missing {
                self.blank_statement(start);
            }
            return Ok(());
        }
        if modifiers.is_method {
            return self.expected("(");
        }
        self.field(start, modifiers)
    }

    fn field(&mut self, start: usize, modifiers: Modifiers) -> Read {
        let annotation = self.token.start;
        let has_type = self.annotation()?;
        if self.take("=") {
            self.assignment()?;
        } else if has_type && !modifiers.is_declared {
            // What follows must not become a part of it: `get: A` and a method below.
            self.instead.push((annotation, b';'));
        }
        self.end_of_statement();
        if modifiers.is_declared {
            self.blank_statement(start);
        }
        Ok(())
    }

    fn modifiers(&mut self, start: usize) -> Modifiers {
        let mut found = Modifiers::default();
        loop {
            if self.is("*") {
                self.advance();
                found.is_method = true;
                return found;
            }
            let word = self.words();
            if !self.is_word() || !MODIFIERS.contains(&word) || self.is_name() {
                return found;
            }
            if OF_TYPESCRIPT.contains(&word) {
                found.is_declared |= word == "declare" || word == "abstract";
                let at = self.token.start;
                self.blank_token();
                if at == start {
                    // What stood before the member ends here, as it did: `["name"]` may follow.
                    self.instead.push((at, b';'));
                }
            } else {
                found.is_method |= matches!(word, "async" | "get" | "set");
                self.advance();
            }
        }
    }

    /// Whether the word is the name of the member itself.
    fn is_name(&self) -> bool {
        let ahead = self.ahead();
        let ends = ["(", "<", "=", ";", ":", "?", "!", "}", ","];
        ahead.kind == Kind::End
            || ends.iter().any(|end| self.ahead_is(end))
            || (ahead.is_on_new_line
                && !OF_TYPESCRIPT.contains(&self.words())
                && !self.is("static"))
    }

    /// `[key: type]: type`
    fn is_index(&self) -> bool {
        let name = self.ahead();
        self.is("[") && name.kind == Kind::Word && {
            let behind = super::lexer::next(self.text, name.end);
            behind.of(self.text) == ":"
        }
    }
}

const OF_TYPESCRIPT: &[&str] =
    &["public", "private", "protected", "abstract", "override", "readonly", "declare"];
const MODIFIERS: &[&str] = &[
    "public",
    "private",
    "protected",
    "abstract",
    "override",
    "readonly",
    "declare",
    "static",
    "async",
    "get",
    "set",
    "accessor",
];
