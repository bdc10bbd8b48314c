// Values as text.
'use strict';
const util = require('util');
const show = (value, options) => console.log(util.inspect(value, options));
class Point { constructor() { this.x = 1; this.y = -0; } get sum() { return 1; } static make() {} }
class Far extends Point { #hidden = 1; }
const circular = { name: 'c', list: [] }; circular.self = circular; circular.list.push(circular);
const nothing = Object.create(null); nothing.a = 1;
const odd = { 'a-b': 1, 2: 'two', [Symbol('s')]: 3, get g() { return 1; }, set g(value) {}, set only(value) {}, f() {}, arrow: () => {}, async a() {}, *gen() {} };
for (const value of [1, -0, 1.5, NaN, 10n, true, null, undefined, 'text', "it's", 'both \' and "', 'line\nline', '\u0000\u001b', Symbol('s'), [], {}, [[]], [{}], [1, , 3], [undefined, null],
  new Point(), new Far(), Point, Far, class {}, function named() {}, () => {}, async () => {}, function* () {}, odd, circular, nothing, new Map([['a', { b: { c: { d: 1 } } }]]), new Set(['x', [1]]), new Map(), new Set(),
  new Date(0), new Date(NaN), /a\/b/gi, new Uint8Array(3), new Float64Array([1.5, -0]), new ArrayBuffer(4), Buffer.from('hello'), Buffer.alloc(60), new Error('x').message, Object(1), Object('s'), Object(false), new WeakMap(), new WeakSet(),
  { a: { b: { c: { d: {} } } } }, [[[[]]]], [[[[1]]]], { a: [1, 2, { b: 3 }] }, Array.from({ length: 120 }, (_, at) => at), Array.from({ length: 30 }, (_, at) => 'item '.repeat(at % 5) + at), 'x'.repeat(200).split('').slice(0, 101),
  { long: 'a'.repeat(60), other: 'b'.repeat(60) }, { one: 'a'.repeat(20), two: 'b'.repeat(20), three: 'c'.repeat(20), four: 'd'.repeat(20) }, ['a'.repeat(70), 'b'.repeat(70)], { f: function () {}, c: class X {}, s: Symbol.iterator }, [1.5, 22, 333, 4444, 55555, 666666, 7777777, 1, 2, 3],
  (function () { return arguments; })(1, 2), globalThis === global, { a: 1n, b: [10n] }, Object.assign(() => {}, { a: 1 }), Object.assign([1], { extra: 2 }), new (class Foo extends Map {})([[1, 2]]), new (class Bar extends Array {})(3), { __proto__: { inherited: 1 }, own: 2 },
  new URLSearchParams('a=1&b=2'), { toString() { return 'x'; } }, [['a', 1], ['b', 2]], { undefined: undefined, null: null }, new Proxy({ a: 1 }, {}), { multi: 'a\nb' }, [`${'long text '.repeat(10)}\nwith lines`]]) show(value);
show({ a: { b: { c: { d: 1 } } } }, { depth: 0 }); show({ a: { b: { c: { d: 1 } } } }, { depth: null }); show([3, 1, 2], { compact: false }); show({ b: 1, a: 2 }, { sorted: true }); show(Array(200).fill(1), { maxArrayLength: 3 }); show({ a: 1, b: 'x' }, { colors: true }); show('x'.repeat(50), { maxStringLength: 10 }); show({ a: 1 }, { showHidden: true }); show({ a: { b: 1 } }, { compact: true });
class Custom { [util.inspect.custom](depth, options, inspect) { return `Custom<${inspect(1)}>`; } }
show(new Custom()); show({ nested: new Custom() });
console.log('%s %d %i %f %j %o %O %% %c|', 'text', 4.5, 4.5, '4.5', { a: 1 }, [1], { b: 2 }, 'css', 'rest', { c: 3 });
console.log('%s', null, undefined, 5n, Symbol('x'), [1, [2]], { a: 1 }, new Date(0), () => 1, class Q {}); console.log('%d', '0x10', '%s'); console.log('100%', 5); console.log('%x', 1); console.log();
console.log(util.format('%s:%s', 'one'), util.format(1, 2, '3'), util.format('a', 'b'), util.format('%s', -0), util.format('%d', -0));
console.log(util.isDeepStrictEqual({ a: [1, new Map([[1, 2]])] }, { a: [1, new Map([[1, 2]])] }), util.isDeepStrictEqual([1], ['1']), util.types.isRegExp(/x/), util.inspect(new Map([[{ a: 1 }, 'x']])));
console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]); console.table([[1, 2], [3, 4]]); console.table(5); console.group('group'); console.log('inside\ntwo'); console.groupEnd(); console.log('outside'); console.count(); console.count(); console.dir({ a: { b: { c: {} } } }, { depth: 0 }); console.assert(true, 'never'); console.info('info'); console.debug('debug');
function Old() { this.a = 1; } util.inherits(Old, require('events')); console.log(new Old() instanceof require('events'), Old.super_.name);
console.log(structuredClone({ a: [1, new Date(5), new Map([[1, { b: 2 }]])] }), [1, 2, 3].at(-1), Object.groupBy === undefined || true);
