// ES modules and CommonJS, by every kind of name.
import fs, { readFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'path';
import process from 'node:process';
const write = (name, text) => { mkdirSync(path.dirname(name), { recursive: true }); writeFileSync(name, text); };
write('mods/cjs.cjs', 'exports.name = "cjs"; exports.file = require("path").basename(__filename); exports.main = require.main === module; exports.self = this === exports;');
write('mods/esm.mjs', 'export const name = "esm"; export default function hello() { return import.meta.url.endsWith("esm.mjs"); }');
write('mods/data.json', '{"a": [1, 2]}');
write('mods/a.js', 'exports.done = false; const b = require("./b"); exports.b = b.done; exports.done = true;');
write('mods/b.js', 'exports.done = false; const a = require("./a.js"); exports.a = a.done; exports.done = true;');
write('mods/dir/index.js', 'module.exports = "index";');
write('mods/node_modules/plain/package.json', '{"main": "lib/start"}');
write('mods/node_modules/plain/lib/start.js', 'module.exports = { plain: true, other: require("./other") };');
write('mods/node_modules/plain/lib/other.js', 'module.exports = "other";');
write('mods/node_modules/@scope/both/package.json', '{"name": "@scope/both", "exports": {".": {"import": "./i.mjs", "require": "./r.cjs"}, "./sub/*": "./parts/*.js", "./hidden": null, "./deep": {"node": {"default": "./r.cjs"}}}, "imports": {"#own": "./r.cjs"}}');
write('mods/node_modules/@scope/both/i.mjs', 'export const how = "import"; export { default as own } from "#own";');
write('mods/node_modules/@scope/both/r.cjs', 'exports.how = "require";');
write('mods/node_modules/@scope/both/parts/x.js', 'module.exports = "part x";');
write('mods/broken.js', 'throw new Error("broken");');
write('mods/typed/package.json', '{"type": "module"}');
write('mods/typed/m.js', 'export default "typed"; export const top = await Promise.resolve(5);');
const require = createRequire(path.resolve('mods/start.js'));
console.log(require('./cjs.cjs'), require('./data'), require('./a'), require('./dir'), require('plain'), require('@scope/both'), require('@scope/both/sub/x'), require('@scope/both/deep'));
console.log(require('./cjs.cjs') === require('./cjs.cjs'), path.basename(require.resolve('plain')), require('fs') === fs, require('node:fs') === fs, typeof readFileSync);
for (const name of ['./none', 'none', '@scope/both/hidden', '@scope/both/other', 'node:none', './broken']) { try { require(name); console.log(name, 'did not fail'); } catch (error) { console.log(name, error.code, error.message.split('\n')[0].replaceAll(process.cwd(), '.')); } }
const cwd = `file://${process.cwd()}`;
const esm = await import(`${cwd}/mods/esm.mjs`); console.log(esm.name, esm.default(), Object.keys(esm));
const cjs = await import(`${cwd}/mods/cjs.cjs`); console.log(cjs.name, cjs.default.name, Object.keys(cjs).includes('file'));
const typed = await import(`${cwd}/mods/typed/m.js`); console.log(typed.default, typed.top);
write('mods/uses.mjs', 'export * from "@scope/both"; import plain from "plain"; export { plain };');
const uses = await import(`${cwd}/mods/uses.mjs`); console.log(uses.how, uses.own, uses.plain);
for (const name of ['./none.mjs', 'none-such', './mods', '@scope/none']) { try { await import(name); console.log(name, 'did not fail'); } catch (error) { console.log(name, error.code); } }
console.log(import.meta.url.endsWith('modules.mjs'), typeof require, this);
fs.rmSync('mods', { recursive: true });
