//! Expressions. What binds how strongly is of no matter here: operands and operators alternate.

use super::lexer::{self, Kind, TemplateEnd};
use super::patterns::Parameters;
use super::{Read, Stripper};

impl Stripper<'_> {
    /// Expressions with commas between them.
    pub(super) fn expression(&mut self) -> Read {
        loop {
            self.assignment()?;
            if !self.take(",") {
                return Ok(());
            }
        }
    }

    /// One expression.
    pub(super) fn assignment(&mut self) -> Read {
        self.deeper(Self::assignment_here)
    }

    fn assignment_here(&mut self) -> Read {
        if self.is("yield") {
            self.advance();
            let _all = self.take("*");
            let ends = [")", "]", "}", ",", ";", ":"];
            if self.token.is_on_new_line || self.token.kind == Kind::End || self.is_any(&ends) {
                return Ok(());
            }
            return self.assignment();
        }
        loop {
            if self.arrow_function()? {
                return Ok(());
            }
            self.operand()?;
            self.checks()?;
            if self.is("?") {
                self.advance();
                let before = std::mem::replace(&mut self.before_colon, true);
                self.assignment()?;
                self.before_colon = before;
                self.expect(":")?;
                return self.assignment();
            }
            if !self.operator() {
                return Ok(());
            }
            if self.is("yield") {
                return self.assignment();
            }
        }
    }

    /// `as A` and `satisfies A` behind an operand.
    fn checks(&mut self) -> Read {
        while self.is_any(&["as", "satisfies"]) && !self.token.is_on_new_line {
            let start = self.token.start;
            self.advance();
            self.type_()?;
            self.blank_from(start);
            let goes_on = self.is_any(&["(", "[", "`"]);
            if goes_on && self.token.is_on_new_line {
                // The statement ended with the type; without it the next line would go on with it.
                self.instead.push((start, b';'));
            }
        }
        Ok(())
    }

    fn operator(&mut self) -> bool {
        if self.is(">") {
            let rest = self.text.get(self.token.start..).unwrap_or_default();
            let longest = GREATER.iter().find(|operator| rest.starts_with(**operator));
            self.end = self.token.start + longest.map_or(1, |operator| operator.len());
            self.token = lexer::next(self.text, self.end);
            return true;
        }
        let is = match self.token.kind {
            Kind::Word => self.is_any(&["in", "instanceof"]),
            Kind::Punctuation => OPERATORS.contains(&self.words()),
            Kind::Private | Kind::Number | Kind::Text | Kind::End => false,
        };
        if is {
            self.advance();
        }
        is
    }

    /// One, if one begins here.
    fn arrow_function(&mut self) -> Read<bool> {
        let is_async = self.is("async") && !self.ahead().is_on_new_line;
        let ahead_begins = is_async && (self.ahead_is("(") || self.ahead_is("<"));
        if self.is_word() && self.ahead_is("=>") {
            self.advance();
            self.advance();
            self.arrow_body()?;
            return Ok(true);
        }
        if is_async && self.ahead_is_word_here() && !self.ahead_is("function") {
            let begun = self.attempt(|this| {
                this.advance();
                this.advance();
                this.expect("=>")
            });
            if begun.is_some() {
                self.arrow_body()?;
                return Ok(true);
            }
            return Ok(false);
        }
        let at = self.token.start;
        if !(ahead_begins || self.is("(") || self.is("<")) || self.no_arrows.contains(&at) {
            return Ok(false);
        }
        let (needs_colon, mark) = (self.before_colon, self.mark());
        let begun = self.attempt(|this| {
            if ahead_begins {
                this.advance();
            }
            this.arrow_head()
        });
        let Some(has_type) = begun else {
            self.no_arrows.insert(at);
            return Ok(false);
        };
        if !(has_type && needs_colon) {
            self.arrow_body()?;
            return Ok(true);
        }
        // `a ? (b) : c => d`: what looks like the type of a result is one only if another colon follows.
        let body = self.attempt(|this| {
            this.arrow_body()?;
            if this.is(":") { Ok(()) } else { this.expected(":") }
        });
        if body.is_none() {
            self.back_to(mark);
        }
        Ok(body.is_some())
    }

    /// Everything before the body; whether its result has a type.
    fn arrow_head(&mut self) -> Read<bool> {
        let has_type = self.within_brackets(|this| {
            this.type_parameters()?;
            this.parameters(Parameters::OfFunction)?;
            let bracket = this.end - 1;
            let start = this.token.start;
            let has_type = this.annotation()?;
            let is_over_lines =
                this.text.get(start..this.token.start).is_some_and(|type_| type_.contains('\n'));
            if has_type && is_over_lines {
                // An arrow stands in the line of its brackets.
                this.instead.push((bracket, b' '));
                this.instead.push((this.end - 1, b')'));
            }
            Ok(has_type)
        })?;
        if !self.is("=>") || (self.token.is_on_new_line && !has_type) {
            return self.expected("=>");
        }
        self.advance();
        Ok(has_type)
    }

    fn arrow_body(&mut self) -> Read {
        if self.is("{") { self.within_brackets(Self::block) } else { self.assignment() }
    }

    pub(super) fn operand_of_decorator(&mut self) -> Read {
        self.primary()?;
        self.behind()
    }

    /// `-a.b(c)!`, with what stands before and behind.
    pub(super) fn operand(&mut self) -> Read {
        while self.is_any(PREFIXES) && !self.is_property_name() {
            self.advance();
        }
        if self.is("new") {
            self.advance();
            if self.take(".") {
                self.advance();
                return self.behind();
            }
            return self.deeper(Self::operand);
        }
        if self.is("<") {
            // `<A>b`: a check in front.
            let start = self.token.start;
            self.type_arguments()?;
            self.blank_from(start);
            return self.deeper(Self::operand);
        }
        self.primary()?;
        self.behind()
    }

    /// `await` and the like are names where a function is none of that kind.
    fn is_property_name(&self) -> bool {
        self.is("await")
            && [")", ",", ";", "=", ".", "]", "}", "=>"].iter().any(|end| self.ahead_is(end))
    }

    fn primary(&mut self) -> Read {
        match (self.token.kind, self.words()) {
            (Kind::Word, "function") => self.function_expression(),
            (Kind::Word, "async") if self.ahead_is("function") && self.ahead_is_word_here() => {
                self.advance();
                self.function_expression()
            }
            (Kind::Word, "class") => self.class(),
            (Kind::Word | Kind::Number | Kind::Text | Kind::Private, _) => {
                self.advance();
                Ok(())
            }
            (Kind::Punctuation, "(") => {
                self.advance();
                self.within_brackets(Self::expression)?;
                self.expect(")")
            }
            (Kind::Punctuation, "[") => self.list("]"),
            (Kind::Punctuation, "{") => self.object(),
            (Kind::Punctuation, "`") => self.template(),
            (Kind::Punctuation, "/" | "/=") => self.regular_expression(),
            (Kind::Punctuation, "@") => {
                self.decorators()?;
                self.class()
            }
            _ => self.expected("an expression"),
        }
    }

    fn function_expression(&mut self) -> Read {
        self.function_head()?;
        self.function_rest(Parameters::OfFunction).map(drop)
    }

    fn regular_expression(&mut self) -> Read {
        let Some(end) = lexer::end_of_pattern(self.text, self.token.start) else {
            return self.expected("the end of a regular expression");
        };
        (self.end, self.token) = (end, lexer::next(self.text, end));
        Ok(())
    }

    /// Members of an array or arguments of a call.
    fn list(&mut self, end: &'static str) -> Read {
        self.advance();
        self.within_brackets(|this| {
            while !this.is(end) {
                if this.take(",") {
                    continue;
                }
                let _spread = this.take("...");
                this.assignment()?;
                if !this.is(end) {
                    this.expect(",")?;
                }
            }
            this.expect(end)
        })
    }

    fn template(&mut self) -> Read {
        let mut at = self.token.end;
        loop {
            let Some((end, how)) = lexer::end_of_template_text(self.text, at) else {
                return self.expected("the end of a template");
            };
            (self.end, self.token) = (end, lexer::next(self.text, end));
            if how == TemplateEnd::Quote {
                return Ok(());
            }
            self.within_brackets(Self::expression)?;
            if !self.is("}") {
                return self.expected("}");
            }
            at = self.token.end;
        }
    }

    fn object(&mut self) -> Read {
        self.expect("{")?;
        self.within_brackets(|this| {
            while !this.is("}") {
                this.property()?;
                if !this.is("}") {
                    this.expect(",")?;
                }
            }
            Ok(())
        })?;
        self.expect("}")
    }

    fn property(&mut self) -> Read {
        if self.take("...") {
            return self.assignment();
        }
        let ends = ["(", "<", ":", ",", "=", "}"];
        while self.is_any(&["get", "set", "async"]) && !ends.iter().any(|end| self.ahead_is(end)) {
            self.advance();
        }
        let _generator = self.take("*");
        self.key()?;
        if self.is_any(&["(", "<"]) {
            return self.function_rest(Parameters::OfFunction).map(drop);
        }
        if self.take(":") || self.take("=") {
            return self.assignment();
        }
        Ok(())
    }

    /// What follows an operand: names, calls, types of a call, `!`, `++`.
    fn behind(&mut self) -> Read {
        loop {
            match (self.token.kind, self.words()) {
                (Kind::Punctuation, "." | "?.") => {
                    self.advance();
                    match (self.token.kind, self.words()) {
                        (Kind::Word | Kind::Private, _) => self.advance(),
                        (Kind::Punctuation, "(" | "[" | "`" | "<") => {}
                        _ => return self.expected("a name"),
                    }
                }
                (Kind::Punctuation, "(") => self.list(")")?,
                (Kind::Punctuation, "[") => {
                    self.advance();
                    self.within_brackets(Self::expression)?;
                    self.expect("]")?;
                }
                (Kind::Punctuation, "`") => self.template()?,
                (Kind::Punctuation, "!") if !self.token.is_on_new_line => self.blank_token(),
                (Kind::Punctuation, "++" | "--") if !self.token.is_on_new_line => self.advance(),
                (Kind::Punctuation, "<" | "<<") => {
                    if self.attempt(Self::arguments_of_call).is_none() {
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// `<A, B>` of a call. It is a comparison where an expression follows.
    fn arguments_of_call(&mut self) -> Read {
        let start = self.token.start;
        self.type_arguments()?;
        let is_call = self.is_any(&["(", "`"]);
        let ends = [
            ")", "]", "}", ":", ";", ",", ".", "?.", "==", "===", "!=", "!==", "&&", "||", "??",
            "^", "&", "|", "?", "=",
        ];
        let is_end = self.is_any(&ends) || self.token.kind == Kind::End;
        if !(is_call || is_end || (self.token.is_on_new_line && self.is_word())) {
            return self.expected("a call");
        }
        self.blank_from(start);
        Ok(())
    }
}

const PREFIXES: &[&str] = &["+", "-", "!", "~", "++", "--", "typeof", "void", "delete", "await"];
const GREATER: &[&str] = &[">>>=", ">>>", ">>=", ">>", ">="];
#[rustfmt::skip]
const OPERATORS: &[&str] = &[
    "=", "+", "-", "*", "/", "%", "**", "<", "<=", "<<", "==", "!=", "===", "!==", "&", "|", "^", "&&", "||", "??",
    "+=", "-=", "*=", "/=", "%=", "**=", "<<=", "&=", "|=", "^=", "&&=", "||=", "??=",
];
