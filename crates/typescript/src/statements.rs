//! Statements and declarations.

use super::lexer::Kind;
use super::patterns::{Body, Parameters};
use super::{Read, Stripper};

impl Stripper<'_> {
    /// The whole text.
    pub(super) fn program(&mut self) -> Read {
        while self.token.kind != Kind::End || self.token.start < self.text.len() {
            let before = self.token.start;
            self.statement()?;
            if self.token.start == before {
                return self.expected("a statement");
            }
        }
        Ok(())
    }

    pub(super) fn block(&mut self) -> Read {
        self.expect("{")?;
        while !self.is("}") {
            if self.token.kind == Kind::End {
                return self.expected("}");
            }
            self.statement()?;
        }
        self.expect("}")
    }

    pub(super) fn statement(&mut self) -> Read {
        self.deeper(|this| this.within_brackets(Self::statement_here))
    }

    fn statement_here(&mut self) -> Read {
        let start = self.token.start;
        match (self.token.kind, self.words()) {
            (Kind::Punctuation, "{") => self.block(),
            (Kind::Punctuation, ";") => {
                self.advance();
                Ok(())
            }
            (Kind::Punctuation, "@") => {
                self.decorators()?;
                self.statement()
            }
            (Kind::Word, _) if self.ahead_is(":") && !self.is_any(&["default", "case"]) => {
                self.advance();
                self.advance();
                self.statement()
            }
            (Kind::Word, word) => match self.keyword_statement(word, start)? {
                Known::Yes => Ok(()),
                Known::No => self.expression_statement(),
            },
            _ => self.expression_statement(),
        }
    }

    fn expression_statement(&mut self) -> Read {
        self.expression()?;
        self.end_of_statement();
        Ok(())
    }

    /// A semicolon may be left out; whoever compiles the text says where it may not.
    pub(super) fn end_of_statement(&mut self) {
        let _written = self.take(";");
    }

    fn keyword_statement(&mut self, word: &str, start: usize) -> Read<Known> {
        match word {
            "var" | "const" | "let" => return self.variables(word),
            "function" => self.function_statement(start)?,
            "async" if self.ahead_is("function") && self.ahead_is_word_here() => {
                self.advance();
                self.function_statement(start)?;
            }
            "class" => self.class()?,
            "if" | "while" | "with" => {
                self.advance();
                self.in_brackets()?;
                self.statement()?;
                if word == "if" && self.take("else") {
                    self.statement()?;
                }
            }
            "for" => self.for_statement()?,
            "do" => {
                self.advance();
                self.statement()?;
                self.expect("while")?;
                self.in_brackets()?;
                self.end_of_statement();
            }
            "return" | "throw" => {
                self.advance();
                let is_alone = self.is_any(&[";", "}"]) || self.token.kind == Kind::End;
                if !is_alone && !self.token.is_on_new_line {
                    self.expression()?;
                }
                self.end_of_statement();
            }
            "break" | "continue" | "debugger" => {
                self.advance();
                if self.is_word() && !self.token.is_on_new_line {
                    self.advance();
                }
                self.end_of_statement();
            }
            "switch" => self.switch()?,
            "try" => self.try_statement()?,
            "import" if !self.ahead_is("(") && !self.ahead_is(".") => self.import(start)?,
            "export" => self.export(start)?,
            _ => return self.typescript_statement(word, start),
        }
        Ok(Known::Yes)
    }

    /// What only TypeScript has. Each of these words is a name as well.
    pub(super) fn typescript_statement(&mut self, word: &str, start: usize) -> Read<Known> {
        let is_before_word = self.ahead_is_word_here();
        match word {
            "interface" if is_before_word => {
                self.interface()?;
                self.blank_statement(start);
            }
            "type" if is_before_word => {
                self.type_alias()?;
                self.blank_statement(start);
            }
            "declare" if is_before_word => {
                self.advance();
                self.declared()?;
                self.blank_statement(start);
            }
            "abstract" if self.ahead_is("class") => {
                self.blank_token();
                self.class()?;
            }
            "enum" if is_before_word => return self.not_erasable("an enum"),
            "namespace" | "module"
                if !self.ahead().is_on_new_line
                    && matches!(self.ahead().kind, Kind::Word | Kind::Text) =>
            {
                return self.not_erasable("a namespace");
            }
            _ => return Ok(Known::No),
        }
        Ok(Known::Yes)
    }

    fn variables(&mut self, word: &str) -> Read<Known> {
        let ahead = self.ahead();
        if word == "const" && self.ahead_is("enum") {
            return self.not_erasable("an enum");
        }
        let is_declaration = ahead.kind == Kind::Word || self.ahead_is("{") || self.ahead_is("[");
        if word == "let" && !is_declaration {
            return Ok(Known::No);
        }
        self.advance();
        self.declarations()?;
        self.end_of_statement();
        Ok(Known::Yes)
    }

    fn function_statement(&mut self, start: usize) -> Read {
        self.function_head()?;
        if self.function_rest(Parameters::OfFunction)? == Body::Missing {
            self.blank_statement(start);
        }
        Ok(())
    }

    /// `function*` and a name, if there is one.
    pub(super) fn function_head(&mut self) -> Read {
        self.expect("function")?;
        let _generator = self.take("*");
        if self.is_word() {
            self.advance();
        }
        Ok(())
    }

    /// `(expression)`
    fn in_brackets(&mut self) -> Read {
        self.expect("(")?;
        self.within_brackets(Self::expression)?;
        self.expect(")")
    }

    fn for_statement(&mut self) -> Read {
        self.advance();
        let _await = self.take("await");
        self.expect("(")?;
        let is_declaration = self.is_any(&["var", "const"])
            || (self.is("let") && !self.ahead_is("of") && !self.ahead_is("in"));
        if is_declaration {
            self.advance();
            self.declarations()?;
        } else if !self.is(";") {
            self.expression()?;
        }
        if self.take("of") || self.take("in") {
            self.expression()?;
        } else if !self.is(")") {
            self.expect(";")?;
            if !self.is(";") {
                self.expression()?;
            }
            self.expect(";")?;
            if !self.is(")") {
                self.expression()?;
            }
        }
        self.expect(")")?;
        self.statement()
    }

    fn switch(&mut self) -> Read {
        self.advance();
        self.in_brackets()?;
        self.expect("{")?;
        while !self.take("}") {
            if self.take("case") {
                self.expression()?;
                self.expect(":")?;
            } else if self.is("default") && self.ahead_is(":") {
                self.advance();
                self.advance();
            } else if self.token.kind == Kind::End {
                return self.expected("}");
            } else {
                self.statement()?;
            }
        }
        Ok(())
    }

    fn try_statement(&mut self) -> Read {
        self.advance();
        self.block()?;
        if self.take("catch") {
            if self.take("(") {
                self.pattern()?;
                self.annotation()?;
                self.expect(")")?;
            }
            self.block()?;
        }
        if self.take("finally") {
            self.block()?;
        }
        Ok(())
    }

    fn interface(&mut self) -> Read {
        self.advance();
        self.advance();
        self.type_parameters()?;
        if self.take("extends") {
            self.types_in_a_row()?;
        }
        if !self.is("{") {
            return self.expected("{");
        }
        self.brackets()
    }

    pub(super) fn types_in_a_row(&mut self) -> Read {
        loop {
            self.type_()?;
            if !self.take(",") {
                return Ok(());
            }
        }
    }

    fn type_alias(&mut self) -> Read {
        self.advance();
        self.advance();
        self.type_parameters()?;
        self.expect("=")?;
        self.type_()?;
        self.end_of_statement();
        Ok(())
    }

    /// What is somewhere else, whatever it is.
    pub(super) fn declared(&mut self) -> Read {
        match self.words() {
            "namespace" | "module" | "global" => {
                while !self.is_any(&["{", ";"]) && self.token.kind != Kind::End {
                    self.advance();
                    if self.token.is_on_new_line && !self.is("{") {
                        return Ok(());
                    }
                }
                if self.is("{") { self.brackets() } else { self.expect(";") }
            }
            "enum" => {
                self.advance();
                self.advance();
                self.brackets()
            }
            "const" if self.ahead_is("enum") => {
                self.advance();
                self.declared()
            }
            "type" => self.type_alias(),
            "interface" => self.interface(),
            _ => self.statement_here(),
        }
    }
}

/// Whether a word begins what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    No,
}
