// What well-known packages say to a few questions. Run beside their `node_modules`, by Node.js and as a guest: the answers
// are equal.
const questions = {
  acorn: async () => {
    const { parse, tokenizer } = require('acorn');
    const tree = parse('const { a, ...b } = await import(`x${1}`); class C { #d = 1n; static { } }', { ecmaVersion: 2022, sourceType: 'module', locations: true });
    return [tree.body.map((one) => one.type), tree.loc, [...tokenizer('a => /b/u', { ecmaVersion: 2020 })].map((token) => token.type.label)];
  },
  ajv: async () => {
    const Ajv = require('ajv');
    const check = new Ajv({ allErrors: true }).compile({ type: 'object', required: ['a', 'b'], properties: { a: { type: 'integer', minimum: 2 }, b: {}, c: { enum: ['x', 'y'] } }, additionalProperties: false });
    return [check({ a: 2, b: 1 }), check({ a: 1, c: 'z', d: 1 }), check.errors.map((error) => [error.instancePath, error.keyword, error.message])];
  },
  async: async () => {
    const async = require('async');
    const order = [];
    const doubled = await async.mapLimit([3, 1, 2], 2, async (one) => { order.push(one); return one * 2; });
    const all = await async.auto({ a: async () => 1, b: ['a', async ({ a }) => a + 1] });
    return [doubled, order, all, await async.reduce([1, 2, 3], 0, async (sum, one) => sum + one)];
  },
  'big.js': async () => {
    const Big = require('big.js');
    return [new Big('0.1').plus('0.2').toString(), new Big(2).sqrt().toFixed(30), new Big('1e500').div(3).toExponential(5), new Big(-7).mod(3).toString()];
  },
  chalk: async () => {
    const { Chalk } = await import('chalk');
    const chalk = new Chalk({ level: 3 });
    return [chalk.red.bold('a', chalk.blue('b')), chalk.hex('#abc').underline('c'), chalk.bgRgb(1, 2, 3)('d'), new Chalk({ level: 0 }).green('plain')];
  },
  commander: async () => {
    const { Command, Option } = require('commander');
    const program = new Command('tool').exitOverride().configureOutput({ writeErr() {}, writeOut() {} });
    program.option('-x, --extra <n>', 'more', Number, 1).addOption(new Option('-k <kind>').choices(['a', 'b'])).argument('<file>').version('1.2.3');
    program.parse(['-x', '5', 'file', '-k', 'b'], { from: 'user' });
    let refused;
    try { new Command().exitOverride().configureOutput({ writeErr() {} }).option('-a').parse(['--nothing'], { from: 'user' }); } catch (error) { refused = [error.code, error.exitCode]; }
    return [program.opts(), program.args, program.helpInformation(), refused];
  },
  dayjs: async () => {
    const dayjs = require('dayjs');
    dayjs.extend(require('dayjs/plugin/utc')); dayjs.extend(require('dayjs/plugin/relativeTime')); dayjs.extend(require('dayjs/plugin/customParseFormat'));
    const day = dayjs.utc('2024-02-28T23:59:58.123Z');
    return [day.add(2, 'day').format('YYYY-MM-DD HH:mm:ss.SSS dddd'), day.diff('2023-01-01', 'month'), day.from(dayjs.utc('2024-03-05')), dayjs.utc('31/12/1999', 'DD/MM/YYYY').toISOString(), day.endOf('week').toJSON()];
  },
  debug: async () => {
    const debug = require('debug');
    const lines = [];
    debug.enable('a:*,-a:b'); debug.log = () => {};
    const log = debug('a:c'); log.useColors = false; log.log = (...all) => lines.push(String(all[0]).replace(/^\S+ /, ''));
    log('text %d %o %s', 5, { a: [1] }, 'x');
    return [debug.enabled('a:b'), debug.enabled('a:x'), log.enabled, lines];
  },
  deepmerge: async () => {
    const merge = require('deepmerge');
    return [merge({ a: [1], b: { c: 1 } }, { a: [2], b: { d: new Date(0) } }), merge.all([{ a: 1 }, { b: 2 }, { a: 3 }]), merge([1], [2], { arrayMerge: (one, other) => other })];
  },
  diff: async () => {
    const diff = require('diff');
    return [diff.createPatch('f', 'a\nb\nc\n', 'a\nx\nc\nd\n'), diff.diffWords('a b c', 'a x c').map((part) => [part.value, part.added, part.removed]), diff.applyPatch('a\nb\n', diff.createPatch('f', 'a\nb\n', 'b\n'))];
  },
  ejs: async () => {
    const ejs = require('ejs');
    return [ejs.render('<% for (const one of all) { %>[<%= one %>|<%- one %>]<% } %>', { all: ['<', '&', 1] }), await ejs.render('<%= await a %>', { a: Promise.resolve(2) }, { async: true })];
  },
  eventemitter3: async () => {
    const Emitter = require('eventemitter3');
    const emitter = new Emitter(), heard = [];
    emitter.on('a', (...all) => heard.push(all)).once('a', function () { heard.push(this === emitter); });
    return [emitter.emit('a', 1, 2), emitter.emit('a'), emitter.emit('b'), heard, emitter.eventNames(), emitter.listenerCount('a')];
  },
  'fast-glob': async () => {
    const glob = require('fast-glob');
    return [glob.sync('node_modules/m{s,inimist}/*.json').sort(), (await glob(['node_modules/ms/**', '!**/*.md'], { onlyFiles: true })).sort(), await glob('node_modules/ms', { onlyDirectories: true }), glob.escapePath('a*(b)')];
  },
  'fast-xml-parser': async () => {
    const { XMLParser, XMLBuilder, XMLValidator } = require('fast-xml-parser');
    const value = new XMLParser({ ignoreAttributes: false }).parse('<?xml version="1.0"?><a b="1"><c>x &lt; y</c><c/><d><![CDATA[<e>]]></d></a>');
    return [value, new XMLBuilder({ ignoreAttributes: false, format: true }).build(value), XMLValidator.validate('<a><b></a>')];
  },
  handlebars: async () => {
    const handlebars = require('handlebars').create();
    handlebars.registerHelper('twice', (value) => value * 2); handlebars.registerPartial('part', '({{this}})');
    return [handlebars.compile('{{#each a}}{{@index}}<{{this}}>{{{twice this}}}{{> part}}{{else}}none{{/each}}{{#if b.c}}yes{{/if}}')({ a: [1, 2], b: { c: true } }), handlebars.compile('{{a}}')({ a: '<&"' })];
  },
  immer: async () => {
    const { produce, enablePatches, produceWithPatches } = await import('immer');
    enablePatches();
    const before = { a: { b: [1, 2] }, c: {} };
    const after = produce(before, (draft) => { draft.a.b.push(3); delete draft.a.b[0]; });
    const [, patches] = produceWithPatches(before, (draft) => { draft.c.d = 1; });
    return [after, after.c === before.c, Object.isFrozen(after), patches];
  },
  immutable: async () => {
    const { Map, List, fromJS, Set, Range, is } = require('immutable');
    const map = Map({ a: 1 }).set('b', List([1, 2])).updateIn(['b', 0], (value) => value + 1);
    return [map.toJS(), String(map), is(map, fromJS(map.toJS())), Range(0, 100, 7).filter((one) => one % 2).take(3).toArray(), Set([1, 1, 2]).union([3]).size];
  },
  ini: async () => {
    const ini = require('ini');
    return [ini.parse('; c\na = 1\nb[] = x\nb[] = y\n[s.t]\nd = "e;f"\n'), ini.stringify({ a: 1, s: { t: ['u', true] } })];
  },
  'js-yaml': async () => {
    const yaml = require('js-yaml');
    let refused;
    try { yaml.load('a: [1'); } catch (error) { refused = [error.name, error.reason, error.mark.line]; }
    return [yaml.load('a: &x [1, 2.5, ~, yes, 0x1f, 2001-12-14]\nb: *x\nc: |\n  d\n   e\n'), yaml.dump({ a: ['x: y', null, { b: 'c\nd' }], e: new Date(0) }), refused];
  },
  lodash: async () => {
    const _ = require('lodash');
    return [_.chunk([1, 2, 3], 2), _.camelCase('fòo bar-baz'), _.template('<%= a %>-<%- b %>')({ a: 1, b: '<' }), _.groupBy([1.2, 1.8, 2.1], Math.floor), _.merge({ a: [{ b: 1 }] }, { a: [{ c: 2 }] }), _.cloneDeep({ a: new Set([1]), b: /x/g }), _.words('one, two & three'), _.sortBy([{ a: 2 }, { a: 1 }], 'a'), _.debounce.length, _.isEqual(new Map([[1, { a: 1 }]]), new Map([[1, { a: 1 }]]))];
  },
  'markdown-it': async () => {
    const make = require('markdown-it');
    return [make({ html: true, linkify: true, typographer: true }).render('# a\n\n* b *c* `d`\n* [e](f "g")\n\n| h | i |\n|---|--:|\n| 1 | 2 |\n\n"quoted" -- http://x.example/y?z'), make().parse('a\n***\n', {}).map((token) => token.type)];
  },
  marked: async () => {
    const { marked } = await import('marked');
    return [marked.parse('# a <b>\n\n1. x\n2. y\n   > z\n\n```js\nlet a = 1 < 2;\n```\n\n~~no~~ **yes** https://a.example'), marked.lexer('- a\n- b').map((token) => token.type)];
  },
  minimatch: async () => {
    const { minimatch } = require('minimatch');
    return ['a/b.js', 'a/.b.js', 'c/d/e.ts', 'x'].map((path) => ['**/*.{js,ts}', 'a/*', '!x', '+(a|c)/**', '[!a]/*/?.ts'].map((pattern) => minimatch(path, pattern)));
  },
  minimist: async () => require('minimist')(['--a=1', 'b', '-xyz', '--no-c', '--d', 'e', '--', '-f'], { boolean: ['d'], alias: { a: 'long' }, default: { g: 2 } }),
  ms: async () => { const ms = require('ms'); return [ms('2 days'), ms('-1.5h'), ms(60000), ms(2 * 3600000, { long: true }), ms('nothing')]; },
  mustache: async () => require('mustache').render('{{#a}}{{b}}-{{{c}}};{{/a}}{{^d}}none{{/d}}{{> p}}', { a: [{ b: '<' }, { b: 2, c: '&' }], d: false, x: 1 }, { p: '[{{x}}]' }),
  papaparse: async () => {
    const papa = require('papaparse');
    return [papa.parse('a,b\n1,"x, ""y"""\n2,z\n', { header: true, dynamicTyping: true, skipEmptyLines: true }).data, papa.unparse([{ a: 1, b: 'x,y' }, { a: null, b: '"' }])];
  },
  qs: async () => { const qs = require('qs'); return [qs.parse('a[b][]=1&a[b][]=2&c=%20d&e[0][f]=g'), qs.stringify({ a: { b: [1, 2] }, c: 'ü&', d: null, e: undefined }, { encodeValuesOnly: true })]; },
  ramda: async () => {
    const R = require('ramda');
    return [R.pipe(R.map(R.inc), R.filter(R.gt(R.__, 2)), R.sum)([1, 2, 3]), R.assocPath(['a', 0, 'b'], 1, {}), R.groupBy(R.length, ['a', 'bb', 'c']), R.curry((a, b, c) => a + b + c)(1)(2, 3), R.equals({ a: [1, NaN] }, { a: [1, NaN] })];
  },
  semver: async () => {
    const semver = require('semver');
    return [semver.satisfies('1.2.3', '^1.0.0 || >=3'), semver.inc('1.2.3-beta.1', 'prerelease'), semver.sort(['1.10.0', '1.9.0', '1.9.0-a']), semver.coerce('v2.3').version, semver.validRange('~1.2'), semver.minVersion('>1.0 <2').version, semver.diff('1.0.0', '1.1.0')];
  },
  uuid: async () => { const uuid = require('uuid'); return [uuid.v5('x', uuid.v5.URL), uuid.validate(uuid.v4()), uuid.version(uuid.v1()), uuid.parse(uuid.NIL), uuid.stringify(uuid.parse('6ba7b810-9dad-11d1-80b4-00c04fd430c8'))]; },
  validator: async () => {
    const validator = require('validator');
    return [validator.isEmail('a@b.example'), validator.isEmail('a@'), validator.isURL('https://a.example:80/b?c'), validator.isIP('::1'), validator.isCreditCard('4111111111111111'), validator.escape('<a>'), validator.isISO8601('2024-02-30', { strict: true }), validator.normalizeEmail('A.b+c@GMAIL.com'), validator.isUUID('x')];
  },
  yaml: async () => {
    const yaml = require('yaml');
    const text = yaml.parseDocument('# c\na: [1, {b: c}] # d\ne: !!set {f}\n');
    text.set('g', 'h');
    return [yaml.parse('a: [1, {b: c}]\nd: >\n  e\n  f\n'), yaml.stringify({ x: ['y', null, '5', true], z: 'a\nb\n' }), String(text), yaml.parseDocument('a: b: c').errors.map((error) => error.code)];
  },
  zod: async () => {
    const { z } = require('zod');
    const shape = z.object({ a: z.number().int().min(2), b: z.string().email().optional(), c: z.union([z.literal('x'), z.array(z.coerce.number())]) }).strict();
    const bad = shape.safeParse({ a: 1.5, b: 'no', c: true, d: 1 });
    return [shape.parse({ a: 2, c: ['5', 6] }), bad.error.issues.map((issue) => [issue.code, issue.path, issue.message]), await z.string().transform(async (text) => text.length).parseAsync('four')];
  },
};
(async () => {
  for (const [name, ask] of Object.entries(questions)) {
    let answer;
    try { answer = await ask(); } catch (error) { answer = ['failed', error && error.stack ? `${error.name}: ${error.message}` : error]; }
    console.log(`== ${name}`);
    console.log(require('util').inspect(answer, { depth: 10, breakLength: 120 }));
  }
})();
