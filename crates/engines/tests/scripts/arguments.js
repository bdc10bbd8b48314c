// `util.parseArgs`: what is read, and what is refused.
'use strict';
const { parseArgs } = require('node:util');
const options = { verbose: { type: 'boolean', short: 'v' }, name: { type: 'string', short: 'n' }, all: { type: 'string', multiple: true, short: 'a' }, many: { type: 'boolean', multiple: true, short: 'm' }, level: { type: 'string', default: '3' }, list: { type: 'string', multiple: true, default: ['x', 'y'] }, on: { type: 'boolean', default: false } };
const show = (args, more) => {
  try { const found = parseArgs({ args, options, ...more }); console.log(JSON.stringify(args), JSON.stringify(found), Object.getPrototypeOf(found.values)); }
  catch (error) { console.log(JSON.stringify(args), error.name, error.code, error.message); }
};
const cases = [[], ['-v'], ['--verbose', '--name', 'x'], ['--name=x=y'], ['-nx'], ['-n', 'x'], ['-vnx'], ['-vn', 'x'], ['-vmm'], ['-a1', '-a', '2', '--all=3'], ['-m', '--many'], ['--level', '5', '--on'], ['--list', 'z'], ['a', 'b'], ['a', '--', '-v', '--x'], ['--'], ['-'], ['--unknown'], ['--unknown=5'], ['-x'], ['-vx'], ['--name'], ['-n'], ['--verbose=yes'], ['--name', '-v'], ['-n', '-v'], ['--name=-v'], ['--no-verbose'], ['--no-name'], ['--__proto__', 'x'], ['--=x'], ['--name', ''], ['--name='], ['-n', '-']];
for (const args of cases) { show(args); show(args, { allowPositionals: true }); show(args, { strict: false }); show(args, { tokens: true, strict: false }); show(args, { allowNegative: true, allowPositionals: true }); }
for (const wrong of [{ options: { a: {} } }, { options: { a: { type: 'number' } } }, { options: { a: { type: 'string', short: 'aa' } } }, { options: { a: { type: 'string', short: 1 } } }, { options: { a: { type: 'string', multiple: 1 } } }, { options: { a: { type: 'string', default: 1 } } }, { options: { a: { type: 'string', multiple: true, default: 'x' } } }, { options: { a: { type: 'string', multiple: true, default: [1] } } }, { options: { a: { type: 'boolean', default: 'x' } } }, { args: 'x' }, { strict: 1 }, { options: [] }, { options: { a: null } }]) show([], wrong);
console.log(parseArgs().positionals, parseArgs({ strict: false }).values);
