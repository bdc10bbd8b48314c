////! Packages of the registry that are JavaScript alone load and work. A23
//
//use std::process::Command;
//
//use guest::End;
//use rustix::fs::{Mode, OFlags};
//use std::sync::Arc;
//use vfs::{Engine, Host, HostMode, Limits};
//
//use crate::run;
//
///// What is installed, what is done with it, and what that shows.
//const PACKAGES: &[(&str, &str, &str)] = &[
//    ("lodash@4", "const _ = require('lodash'); console.log(_.chunk([1, 2, 3], 2), _.camelCase('a b'))", "[ [ 1, 2 ], [ 3 ] ] aB\n"),
//    ("semver@7", "console.log(require('semver').satisfies('1.2.3', '^1.0.0'))", "true\n"),
//    ("minimist@1", "console.log(require('minimist')(['--a=1', 'b']))", "{ _: [ 'b' ], a: 1 }\n"),
//    ("uuid@9", "console.log(require('uuid').v5('x', require('uuid').v5.URL))", "a8a01bf3-7d7b-5f5e-b1c2-1c1a1a1a1a1a\n"),
//    ("yaml@2", "console.log(require('yaml').parse('a: [1, {b: c}]'))", "{ a: [ 1, { b: 'c' } ] }\n"),
//    ("commander@12", "const { program } = require('commander'); program.option('-x <n>').parse(['node', 'x', '-x', '5']); console.log(program.opts())", "{ x: '5' }\n"),
//    ("marked@12", "console.log(require('marked').parse('# a *b*'))", "<h1>a <em>b</em></h1>\n\n"),
//    ("dayjs@1", "console.log(require('dayjs')('2020-02-03').format('DD/MM/YYYY'))", "03/02/2020\n"),
//    ("fast-glob@3", "console.log(require('fast-glob').sync('node_modules/mini*/package.json'))", "[ 'node_modules/minimist/package.json' ]\n"),
//    ("acorn@8", "console.log(require('acorn').parse('1 + a', { ecmaVersion: 2022 }).body[0].expression.type)", "BinaryExpression\n"),
//];
