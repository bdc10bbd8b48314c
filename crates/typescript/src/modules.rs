//! What a module takes from others and gives to them.

use super::lexer::Kind;
use super::statements::Known;
use super::{Read, Stripper};

impl Stripper<'_> {
    pub(super) fn import(&mut self, start: usize) -> Read {
        self.advance();
        if self.token.kind == Kind::Text {
            return self.source();
        }
        let is_type = self.is("type") && {
            let ahead = self.ahead();
            (ahead.kind == Kind::Word && !self.ahead_is("from"))
                || self.ahead_is("{")
                || self.ahead_is("*")
        };
        if is_type {
            self.advance();
        }
        if self.is_word() {
            self.advance();
            if self.is("=") {
                return self.not_erasable("an `import … = …`");
            }
            let _more = self.take(",");
        }
        if self.take("*") {
            self.expect("as")?;
            self.advance();
        } else if self.is("{") {
            self.specifiers()?;
        }
        self.expect("from")?;
        self.source()?;
        if is_type {
            self.blank_statement(start);
        }
        Ok(())
    }

    /// `"name" with { … };`
    fn source(&mut self) -> Read {
        if self.token.kind != Kind::Text {
            return self.expected("the name of a module");
        }
        self.advance();
        if self.is_any(&["with", "assert"]) && !self.token.is_on_new_line {
            self.advance();
            self.brackets()?;
        }
        self.end_of_statement();
        Ok(())
    }

    /// `{ a, b as c, type D }`, with what is a type as a blank.
    fn specifiers(&mut self) -> Read {
        self.expect("{")?;
        while !self.is("}") {
            let start = self.token.start;
            let ahead = self.ahead();
            let is_type = self.is("type")
                && matches!(ahead.kind, Kind::Word | Kind::Text)
                && !self.ahead_is("as");
            if is_type {
                self.advance();
            }
            if !matches!(self.token.kind, Kind::Word | Kind::Text) {
                return self.expected("a name");
            }
            self.advance();
            if self.take("as") {
                self.advance();
            }
            let is_last = !self.take(",");
            if is_type {
                self.blank_from(start);
            }
            if is_last {
                break;
            }
        }
        self.expect("}")
    }

    pub(super) fn export(&mut self, start: usize) -> Read {
        self.advance();
        match self.words() {
            "{" => {
                self.specifiers()?;
                self.end_of_export()
            }
            "*" => {
                self.advance();
                if self.take("as") {
                    self.advance();
                }
                self.end_of_export()
            }
            "=" => self.not_erasable("an `export = …`"),
            "as" => {
                while !self.is(";") && !self.token.is_on_new_line && self.token.kind != Kind::End {
                    self.advance();
                }
                self.end_of_statement();
                self.blank_statement(start);
                Ok(())
            }
            "import" => self.not_erasable("an `export import`"),
            "type" if self.ahead_is("{") || self.ahead_is("*") => {
                self.advance();
                self.export_of_types()?;
                self.blank_statement(start);
                Ok(())
            }
            "default" => self.export_default(start),
            "function" => self.exported_function(start),
            "async" if self.ahead_is("function") => {
                self.advance();
                self.exported_function(start)
            }
            "enum" => self.not_erasable("an enum"),
            word => match self.typescript_statement(word, start)? {
                Known::Yes => Ok(()),
                Known::No => self.statement(),
            },
        }
    }

    fn export_of_types(&mut self) -> Read {
        if self.take("*") {
            if self.take("as") {
                self.advance();
            }
        } else {
            self.specifiers()?;
        }
        self.end_of_export()
    }

    fn end_of_export(&mut self) -> Read {
        if self.take("from") {
            return self.source();
        }
        self.end_of_statement();
        Ok(())
    }

    fn exported_function(&mut self, start: usize) -> Read {
        use super::patterns::{Body, Parameters};
        self.function_head()?;
        if self.function_rest(Parameters::OfFunction)? == Body::Missing {
            self.blank_statement(start);
        }
        Ok(())
    }

    fn export_default(&mut self, start: usize) -> Read {
        self.advance();
        match self.words() {
            "function" => self.exported_function(start),
            "async" if self.ahead_is("function") => {
                self.advance();
                self.exported_function(start)
            }
            "class" | "@" => {
                self.decorators()?;
                self.class()
            }
            "abstract" | "interface" => {
                let word = self.words();
                match self.typescript_statement(word, start)? {
                    Known::Yes => Ok(()),
                    Known::No => self.default_value_of_module(),
                }
            }
            _ => self.default_value_of_module(),
        }
    }

    fn default_value_of_module(&mut self) -> Read {
        self.assignment()?;
        self.end_of_statement();
        Ok(())
    }
}
