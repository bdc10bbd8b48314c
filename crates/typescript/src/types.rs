//! Types: read to know where they end. What is between brackets inside of a type is types again, and skipped as a whole.

use super::lexer::{Kind, TemplateEnd};
use super::{Read, Stripper, Why, lexer};

/// Whether `extends … ? … : …` may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conditional {
    Allowed,
    Refused,
}

impl Stripper<'_> {
    /// `: type`, if it is there, as a blank.
    pub(super) fn annotation(&mut self) -> Read<bool> {
        let start = self.token.start;
        if !self.take(":") {
            return Ok(false);
        }
        self.type_()?;
        self.blank_from(start);
        Ok(true)
    }

    /// `<A, B extends C = D>` where something is declared, as a blank.
    pub(super) fn type_parameters(&mut self) -> Read {
        let start = self.token.start;
        if self.is("<") {
            self.declared_parameters()?;
            self.blank_from(start);
        }
        Ok(())
    }

    fn declared_parameters(&mut self) -> Read {
        self.expect("<")?;
        while !self.is(">") {
            while self.is_any(&["const", "in", "out"]) && self.ahead().kind == Kind::Word {
                self.advance();
            }
            if !self.is_word() {
                return self.expected("the name of a type");
            }
            self.advance();
            if self.take("extends") {
                self.type_()?;
            }
            if self.take("=") {
                self.type_()?;
            }
            if !self.take(",") {
                break;
            }
        }
        self.expect(">")
    }

    /// `<A, B>` where something is used.
    pub(super) fn type_arguments(&mut self) -> Read {
        self.expect("<")?;
        while !self.is(">") {
            self.type_()?;
            if !self.take(",") {
                break;
            }
        }
        self.expect(">")
    }

    /// A whole type.
    pub(super) fn type_(&mut self) -> Read {
        self.deeper(|this| this.type_with(Conditional::Allowed))
    }

    fn type_with(&mut self, conditional: Conditional) -> Read {
        self.union(conditional)?;
        if conditional == Conditional::Allowed && self.is("extends") && !self.token.is_on_new_line {
            self.condition()?;
        } else if conditional == Conditional::Allowed && self.is("extends") {
            // A type that goes on in the next line; `extends` begins nothing else behind one.
            self.attempt(Self::condition);
        }
        Ok(())
    }

    fn condition(&mut self) -> Read {
        self.expect("extends")?;
        self.deeper(|this| this.type_with(Conditional::Refused))?;
        self.expect("?")?;
        self.type_()?;
        self.expect(":")?;
        self.type_()
    }

    fn union(&mut self, conditional: Conditional) -> Read {
        let _leading = self.take("|") || self.take("&");
        loop {
            self.type_operand(conditional)?;
            if !(self.take("|") || self.take("&")) {
                return Ok(());
            }
        }
    }

    fn type_operand(&mut self, conditional: Conditional) -> Read {
        while self.is_any(&["keyof", "unique", "readonly"]) && self.begins_type_ahead() {
            self.advance();
        }
        if self.is("asserts") && self.ahead_is_word_here() && !self.ahead_is("is") {
            self.advance();
        }
        if self.is("infer") && self.ahead_is_word_here() {
            return self.inferred(conditional);
        }
        if self.is("abstract") && self.ahead_is("new") {
            self.advance();
        }
        if self.is_any(&["new", "("]) || self.is("<") {
            return self.function_or_brackets();
        }
        self.primary_type()?;
        self.postfix_type()
    }

    fn begins_type_ahead(&self) -> bool {
        let ahead = self.ahead();
        match ahead.kind {
            Kind::Word | Kind::Text | Kind::Number => {
                !ahead.is_on_new_line && !self.ahead_is("extends")
            }
            Kind::Punctuation => ["(", "[", "{", "`"].iter().any(|begin| self.ahead_is(begin)),
            Kind::Private | Kind::End => false,
        }
    }

    /// `infer A extends B`, where that is not the condition itself.
    fn inferred(&mut self, conditional: Conditional) -> Read {
        self.advance();
        self.advance();
        if self.is("extends") {
            self.attempt(|this| {
                this.advance();
                this.deeper(|this| this.type_with(Conditional::Refused))?;
                match conditional {
                    Conditional::Allowed if this.is("?") => this.expected("a bound"),
                    _ => Ok(()),
                }
            });
        }
        Ok(())
    }

    fn function_or_brackets(&mut self) -> Read {
        let is_function = self.take("new") || self.is("<");
        if self.is("<") {
            self.declared_parameters()?;
        }
        self.brackets()?;
        if self.take("=>") {
            return self.type_();
        }
        if is_function {
            return self.expected("=>");
        }
        self.postfix_type()
    }

    fn primary_type(&mut self) -> Read {
        match self.token.kind {
            Kind::Text | Kind::Number => self.advance(),
            Kind::Word if self.is("typeof") => {
                self.advance();
                self.named_type()?;
            }
            Kind::Word => self.named_type()?,
            Kind::Punctuation => match self.words() {
                "{" | "[" => self.brackets()?,
                "`" => self.template_type()?,
                "-" => {
                    self.advance();
                    if self.token.kind != Kind::Number {
                        return self.expected("a number");
                    }
                    self.advance();
                }
                _ => return self.expected("a type"),
            },
            Kind::Private | Kind::End => return self.expected("a type"),
        }
        Ok(())
    }

    /// `a.b<c>`, `import("a").b`, `a is b`.
    fn named_type(&mut self) -> Read {
        let is_import = self.is("import");
        self.advance();
        if is_import {
            self.brackets()?;
        }
        while self.take(".") {
            if !matches!(self.token.kind, Kind::Word | Kind::Private) {
                return self.expected("a name");
            }
            self.advance();
        }
        if self.is("<") && !self.token.is_on_new_line {
            self.type_arguments()?;
        }
        if self.is("is") && !self.token.is_on_new_line {
            self.advance();
            self.type_()?;
        }
        Ok(())
    }

    fn postfix_type(&mut self) -> Read {
        while self.is("[") && !self.token.is_on_new_line {
            self.brackets()?;
        }
        Ok(())
    }

    fn template_type(&mut self) -> Read {
        let mut at = self.token.end;
        loop {
            let Some((end, how)) = lexer::end_of_template_text(self.text, at) else {
                return self.expected("the end of a template");
            };
            (self.end, self.token) = (end, lexer::next(self.text, end));
            if how == TemplateEnd::Quote {
                return Ok(());
            }
            self.type_()?;
            if !self.is("}") {
                return self.expected("}");
            }
            at = self.token.end;
        }
    }

    /// Everything from one bracket to the one that closes it.
    pub(super) fn brackets(&mut self) -> Read {
        let mut open = Vec::new();
        loop {
            match (self.token.kind, self.words()) {
                (Kind::End, _) => return Err(self.stop(Why::Syntax("the end of brackets"))),
                (Kind::Punctuation, "(") => open.push(")"),
                (Kind::Punctuation, "[") => open.push("]"),
                (Kind::Punctuation, "{") => open.push("}"),
                (Kind::Punctuation, close @ (")" | "]" | "}")) if open.pop() != Some(close) => {
                    return self.expected("brackets in pairs");
                }
                (Kind::Punctuation, ")" | "]" | "}") => {}
                (Kind::Punctuation, "`") if !open.is_empty() => {
                    self.template_type()?;
                    continue;
                }
                _ if open.is_empty() => return self.expected("brackets"),
                _ => {}
            }
            self.advance();
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}
