//! What names are bound by: parameters, declarations and what is taken apart.

use super::lexer::Kind;
use super::{Read, Stripper};

/// Whose parameters they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameters {
    OfFunction,
    /// Those may be properties at once in TypeScript.
    OfConstructor,
}

/// What stood behind the head of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    There,
    /// The head alone: an overload, or something abstract.
    Missing,
}

impl Stripper<'_> {
    /// `a`, `{ a, b: [c] = d }`, `[a, ...b]`.
    pub(super) fn pattern(&mut self) -> Read {
        self.deeper(|this| match (this.token.kind, this.words()) {
            (Kind::Word, _) => {
                this.advance();
                Ok(())
            }
            (Kind::Punctuation, "{") => this.object_pattern(),
            (Kind::Punctuation, "[") => this.array_pattern(),
            _ => this.expected("a name"),
        })
    }

    fn object_pattern(&mut self) -> Read {
        self.expect("{")?;
        while !self.is("}") {
            if self.take("...") {
                self.pattern()?;
            } else {
                let is_name = self.is_word();
                self.key()?;
                if self.take(":") {
                    self.pattern()?;
                } else if !is_name {
                    return self.expected(":");
                }
                self.default_value()?;
            }
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")
    }

    fn array_pattern(&mut self) -> Read {
        self.expect("[")?;
        while !self.is("]") {
            if self.take(",") {
                continue;
            }
            let _rest = self.take("...");
            self.pattern()?;
            self.default_value()?;
            if !self.is("]") {
                self.expect(",")?;
            }
        }
        self.expect("]")
    }

    fn default_value(&mut self) -> Read {
        if self.take("=") { self.within_brackets(Self::assignment) } else { Ok(()) }
    }

    /// A name of a property: a word, a text, a number, `#private` or `[computed]`.
    pub(super) fn key(&mut self) -> Read {
        match (self.token.kind, self.words()) {
            (Kind::Word | Kind::Text | Kind::Number | Kind::Private, _) => {
                self.advance();
                Ok(())
            }
            (Kind::Punctuation, "[") => {
                self.advance();
                self.within_brackets(Self::assignment)?;
                self.expect("]")
            }
            _ => self.expected("a name"),
        }
    }

    /// `(a: A, b?: B = c)`, with its types as blanks.
    pub(super) fn parameters(&mut self, of: Parameters) -> Read {
        self.expect("(")?;
        while !self.is(")") {
            self.decorators()?;
            if self.is("this") && self.ahead_is(":") {
                let start = self.token.start;
                self.advance();
                self.advance();
                self.type_()?;
                let _another = self.take(",");
                self.blank_from(start);
                continue;
            }
            if self.is_any(&["public", "private", "protected", "readonly", "override"])
                && self.ahead().kind == Kind::Word
            {
                return match of {
                    Parameters::OfConstructor => {
                        self.not_erasable("a parameter that is a property")
                    }
                    Parameters::OfFunction => self.expected("a name"),
                };
            }
            let _rest = self.take("...");
            self.pattern()?;
            if self.is("?") {
                self.blank_token();
            }
            self.annotation()?;
            self.default_value()?;
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")
    }

    /// Everything of a function behind its name.
    pub(super) fn function_rest(&mut self, of: Parameters) -> Read<Body> {
        self.within_brackets(|this| {
            this.type_parameters()?;
            this.parameters(of)?;
            this.annotation()?;
            if this.is("{") {
                this.block()?;
                return Ok(Body::There);
            }
            let _end = this.take(";");
            Ok(Body::Missing)
        })
    }

    /// What is read between brackets has nothing to do with a `?` before them.
    pub(super) fn within_brackets<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<T> {
        let before = std::mem::replace(&mut self.before_colon, false);
        let done = read(self);
        self.before_colon = before;
        done
    }

    /// `let a: A = b, c` behind its first word.
    pub(super) fn declarations(&mut self) -> Read {
        loop {
            self.pattern()?;
            if self.is("!") && self.ahead_is(":") {
                self.blank_token();
            }
            self.annotation()?;
            if self.take("=") {
                self.assignment()?;
            }
            if !self.take(",") {
                return Ok(());
            }
        }
    }
}
