//! Texts with types, and what is left of them.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{Why, strip};

/// What is left, with one blank for many.
fn left(text: &str) -> String {
    let stripped = strip(text).unwrap_or_else(|refused| panic!("{text}: {refused:?}"));
    assert_eq!(stripped.len(), text.len(), "{text}");
    let lines = |text: &str| text.matches('\n').count();
    assert_eq!(lines(&stripped), lines(text), "{text}");
    stripped.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(left(text), *expected, "{text}");
    }
}

/// A23: what JavaScript has stays as it is.
#[test]
fn javascript_stays() {
    for text in [
        "a < b; c > d; a >> b; a >>>= 1; x = a < b && c > d; f(a < b, c > d);",
        "const r = /[/]\\/<T>/g.test(x) / 2 / 3; if (x) /re/.exec(y);",
        "`a${b ? `c${d}` : { e: 1 }.e}f`;",
        "a ? (b) : c => d; a ? (b, c) : d; a ? b ? c : d : e; x = a ? (b) : (c);",
        "async (a, { b, c: [d = 1] }, ...e) => { await a; }; async x => x; async(1); async;",
        "label: for (const a of b) { if (c) continue label; else break; } for (;;) {} for (x in y) z;",
        "class A extends B { static { x(); } #p = 1; static async *g() {} get x() { return #p in this; } set = 1; 'a' = 2; [b]() {} }",
        "switch (a) { case 1: case b ? c : d: x(); default: y(); } do x(); while (y)",
        "import a, { b as c } from 'd'; import * as e from 'f'; import 'g'; export { a as default, type }; export * as h from 'i';",
        "export default class {} export const x = 1, y = () => {}; export default function* g() {}",
        "import.meta.url; import('x'); new.target; new Foo; new (a.b())(c); a?.[b]?.(c)?.d; a ??= b; a?.5:b;",
        "type = 1; declare(x); as; interface\nx; let of = namespace; module.exports = abstract; type\nX",
        "var o = { get, set: 1, async, get a() { return 1; }, async *b() {}, [c]: d, 'e': f, 1: g, ...h, async: 1, get: 2 };",
        "try { throw a } catch { } finally { } a = b\n++c; x = function* () { yield; yield* a; };",
        "var { a = 1, ...b } = c, [, d, ...e] = f; ({ a, b: [c] = d } = e); if (a) b; else if (c) d;",
        "0x1F.a; 1.5.b; 1e-5; .5; 1_000n; a = 1.\nb",
    ] {
        assert_eq!(strip(text).as_deref(), Ok(text), "{text}");
    }
}

/// A23: annotations become blanks, and everything else stays where it is.
#[test]
fn annotations_become_blanks() {
    check(&[
        ("let a: number = 1, b!: string; const c: A<B<C>> = d;", "let a = 1, b ; const c = d;"),
        (
            "function f<T extends A = B>(this: T, a?: string, b: C = 1, ...c: D[]): a is E { }",
            "function f ( a , b = 1, ...c ) { }",
        ),
        (
            "const f = <T,>(a: T): T => a, g = async <T>(x: T) => x;",
            "const f = (a ) => a, g = async (x ) => x;",
        ),
        ("x = (a: number, { b }: C = {}): D => ({ a });", "x = (a , { b } = {}) => ({ a });"),
        (
            "a as B; a as const; (b satisfies C).d; e!.f![0]!; <G>h;",
            "a ; a ; (b ).d; e .f [0] ; h;",
        ),
        (
            "f<A>(b); new Map<string, B[]>(); g<T>`x`; a.b?.<C>(d); const h = i<J>;",
            "f (b); new Map (); g `x`; a.b?. (d); const h = i ;",
        ),
        ("let a: { b: string; c(): void } | [d: E, ...F[]] & 'g' | -1 | `h${I}`;", "let a ;"),
        (
            "let a: (b: C) => D, e: new () => F, g: typeof h.i<J>, k: keyof L[M][];",
            "let a , e , g , k ;",
        ),
        ("let a: A extends B<infer C extends D> ? E : F;", "let a ;"),
        (
            "let a: { [K in keyof T as `x${K}`]?: T[K] }; let b: import('c').D<E>;",
            "let a ; let b ;",
        ),
        (
            "for (const a: B of c) {} try {} catch (e: unknown) {}",
            "for (const a of c) {} try {} catch (e ) {}",
        ),
        ("a ? (b): C => d : e; a ? (b: C) => d : e;", "a ? (b) => d : e; a ? (b ) => d : e;"),
        (
            "function f(a: A): asserts a is B {} function g(a): asserts a {}",
            "function f(a ) {} function g(a) {}",
        ),
        (
            "let x: unique symbol; let y: readonly string[]; let z: A.B.C<D>['e'];",
            "let x ; let y ; let z ;",
        ),
    ]);
}

/// A23: what is a type alone becomes blank as a whole.
#[test]
fn declarations_become_blanks() {
    check(&[
        ("interface A<B> extends C, D<E> { f: G; h(): I }\nx;", "; x;"),
        ("type A<B> = { c: D } | E;\ntype F =\n | G\n | H\nx;", "; ; x;"),
        (
            "export type A = B; export interface C { } export type { D } from 'e'; export type * from 'f'; x",
            "; ; ; ; x",
        ),
        (
            "import type A from 'a'; import type { B } from 'b'; import { type C, d, type E } from 'e'; import type from 'f';",
            "; ; import { d, } from 'e'; import type from 'f';",
        ),
        (
            "declare const a: B; declare function c(): D; declare module 'e' { f: G } declare global { } declare enum H { I } x",
            "; ; ; ; ; x",
        ),
        ("function f(a: A): B;\nfunction f(a) { return a; }", "; function f(a) { return a; }"),
        ("export function f(a: A): B;\nexport function f(a) { }", "; export function f(a) { }"),
        ("x = 1\ninterface A { }\n(b)", "x = 1 ; (b)"),
        ("x = a as B\n(c)", "x = a ; (c)"),
    ]);
}

/// A23: members of classes.
#[test]
fn members_of_classes() {
    check(&[
        ("class A<B> extends C<D> implements E, F<G> { }", "class A extends C { }"),
        (
            "abstract class A { abstract b(): C; abstract d: E; f(): G { } }",
            "class A { ; ; f() { } }",
        ),
        (
            "class A { private readonly b: C = 1; public static d?: E; declare f: G; h!: I; }",
            "class A { ; b = 1; ; static d ; ; ; h ; ; }",
        ),
        (
            "class A { [key: string]: B; c = 1\nreadonly ['d'] = 2; get: E\nf() {} }",
            "class A { ; c = 1 ; ['d'] = 2; get; f() {} }",
        ),
        (
            "class A { constructor(a: B); constructor(a) { } m<T>(a: T): T; m(a) { return a; } override n() { } }",
            "class A { ; constructor(a) { } ; m(a) { return a; } ; n() { } }",
        ),
        (
            "class A { get a(): B { return 1; } set a(b: C) { } static async d(): Promise<E> { } f?(): void; }",
            "class A { get a() { return 1; } set a(b ) { } static async d() { } ; }",
        ),
    ]);
}

/// A23: what is more than a type is refused by name, and where it is.
#[test]
fn what_is_more_than_a_type_is_refused() {
    for (text, line, column, what) in [
        ("x;\nenum A { B }", 2, 1, "an enum"),
        ("const enum A { B }", 1, 1, "an enum"),
        ("export enum A { B }", 1, 8, "an enum"),
        ("namespace A { x = 1 }", 1, 1, "a namespace"),
        ("class A {\n  constructor(private a: B) { }\n}", 2, 15, "a parameter that is a property"),
        ("import a = require('b');", 1, 10, "an `import … = …`"),
        ("export = a;", 1, 8, "an `export = …`"),
    ] {
        let refused = strip(text).unwrap_err();
        assert_eq!(
            (refused.line, refused.column, refused.why),
            (line, column, Why::NotErasable(what)),
            "{text}"
        );
    }
    for text in [
        "let a: = 1;",
        "function (",
        "`${",
        "class { a",
        "let a: {",
        "@",
        "x = /a",
        "a ? b",
        "f(a: b)",
    ] {
        assert!(matches!(strip(text).unwrap_err().why, Why::Syntax(_)), "{text}");
    }
}

/// A25: no text takes long or fills the stack, whatever it nests.
#[test]
fn hostile_texts_are_refused_quickly() {
    let begun = std::time::Instant::now();
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("`${", "}`"),
        ("a ? (b): c => ", ": d"),
        ("(a = ", ") => 1"),
        ("let a: A<", ">"),
        ("class { a = ", "}"),
        ("let a: infer B extends ", "x ? y : z"),
        ("a<b<", ">>"),
        ("!", ""),
        ("new ", ""),
        ("() => ", ""),
        ("let a: (", ")"),
        ("a?", ":b"),
        ("if (a) ", "x"),
        ("<a>", "b"),
        ("f(", ""),
        ("\\", ""),
        ("é", ""),
        ("/*", ""),
        ("\"", ""),
    ] {
        for count in [10, 100, 20_000] {
            let _either = strip(&format!("{}1{}", open.repeat(count), close.repeat(count)));
        }
    }
    // Far above what a busy machine takes, and far below what a text takes that is read over and over.
    assert!(begun.elapsed() < testing::slowly(std::time::Duration::from_secs(60)));
}
