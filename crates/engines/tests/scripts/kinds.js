/* Nothing says what this file is, and it can only be an ES module. */ const first = await 5; export {};
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const files = {
  'lib.js': 'export const a = 1;', 'comment.js': '/* c */ export const b = 2;', 'late.js': 'const x = 1; export {}; export default x;',
  'meta.js': 'globalThis.met = [typeof import.meta.url, import.meta.url.endsWith("/kinds/meta.js"), import.meta.filename === undefined || import.meta.filename.endsWith("meta.js")];',
  'awaits.js': 'const a = await 5; globalThis.awaited = a;', 'own.js': 'const require = 5; export default require;', 'noending': 'export default "no ending";',
  'uses.js': 'import { a } from "./lib.js"; import * as plain from "./plain.js"; import { b } from "./comment.js"; globalThis.used = [a, b, plain.c, plain.default.self];',
  'plain.js': 'globalThis.loads = (globalThis.loads || 0) + 1; exports.c = 3; exports.self = this === exports;', 'returns.js': 'exports.r = 1; return; exports.r = 2;',
  'sloppy.js': 'var o = { x: 1 }; with (o) { exports.x = x; } exports.kind = (function () { return this === undefined; })();', 'strict.js': 'export const kind = (function () { return this === undefined; })();',
  'words.js': 'var await = 1; exports.word = await;', 'broken.js': 'const x = ;', 'both.js': 'export const a = 1;\nconst y = ;',
  'said/package.json': '{"type": "commonjs"}', 'said/esm.js': 'export const a = 1;', 'said/cjs.js': 'exports.a = 1;', 'node_modules/p/package.json': '{"main": "m.js"}', 'node_modules/p/m.js': 'export default "a package";',
  'user.js': 'import p from "p"; export default p;', 'twice.js': 'globalThis.twice = (globalThis.twice || 0) + 1; export default globalThis.twice;', 'one.js': 'export { default } from "./twice.js"; import "./other.js";', 'other.js': 'import t from "./twice.js"; export default t; import { later } from "./cycle.js";', 'cycle.js': 'import "./other.js"; export const later = 1;',
};
for (const directory of ['kinds/said', 'kinds/node_modules/p']) mkdirSync(directory, { recursive: true });
for (const [name, text] of Object.entries(files)) writeFileSync(`kinds/${name}`, text);
const here = `file://${process.cwd()}/kinds`;
console.log(first, import.meta.url.endsWith('kinds.js'), typeof module, this);
for (const name of Object.keys(files)) {
  if (name.endsWith('.json')) continue;
  try { const found = await import(`${here}/${name}`); console.log(name, Object.keys(found).filter((one) => one !== 'module.exports' && one !== 'self').sort(), found.default); }
  catch (error) { console.log(name, error.name); }
}
console.log(globalThis.met, globalThis.awaited, globalThis.used, globalThis.loads, globalThis.twice);
const requires = createRequire(`${process.cwd()}/kinds/from.js`);
for (const name of ['plain', 'returns', 'sloppy', 'words', 'said/cjs']) console.log(name, requires(`./${name}`), requires(`./${name}.js`) === requires(`./${name}`));
for (const name of ['broken', 'said/esm']) { try { requires(`./${name}`); } catch (error) { console.log(name, error.name); } }
rmSync('kinds', { recursive: true });
