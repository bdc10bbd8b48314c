// Modules: CommonJS and ES modules, found as Node finds them; and the beginning of a program.
(function (native, internal) {
  'use strict';
  const { coded, checked, badArgument } = internal.errors;
  const { builtins, fs, path, process } = internal;
  // Without `module-sync`: what stands there is an ES module, which `require` refuses.
  const REQUIRE = ['node', 'require', 'node-addons', 'default'], IMPORT = ['node', 'import', 'node-addons', 'default'];
  const wrapper = ['(function (exports, require, module, __filename, __dirname) { ', '\n});'];
  const { SyntaxError } = globalThis, parse = JSON.parse, hasOwn = Object.prototype.hasOwnProperty;
  const own = (object, key) => hasOwn.call(object, key);
  const isFile = (name) => { const found = native.stat(name, true); return typeof found !== 'number' && (found[1] & 0o170000) === 0o100000; };
  const isDirectory = (name) => { const found = native.stat(name, true); return typeof found !== 'number' && (found[1] & 0o170000) === 0o040000; };

  const packages = new Map();
  function packageAt(directory) {
    if (packages.has(directory)) return packages.get(directory);
    const file = directory === '/' ? '/package.json' : `${directory}/package.json`;
    const text = native.readText(file);
    let found = null;
    if (typeof text === 'string') { try { found = { directory, file, content: parse(text.replace(/^\ufeff/, '')) || {} }; } catch (error) { throw coded(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${file}. ${error.message}`); } }
    packages.set(directory, found);
    return found;
  }
  function packageOf(file) {
    for (let at = path.dirname(file); ; at = path.dirname(at)) {
      if (!at.endsWith('/node_modules')) { const found = packageAt(at); if (found) return found; }
      if (at === '/') return null;
    }
  }
  function builtin(name) {
    const plain = name.startsWith('node:') ? name.slice(5) : name;
    if (builtins.has(plain)) return plain;
    if (name.startsWith('node:')) throw coded(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${name}`);
    return undefined;
  }

  // `exports` and `imports` of a package.
  function target(where, value, matched, conditions, isImports) {
    if (typeof value === 'string') {
      const text = matched === null ? value : value.replaceAll('*', () => matched);
      if (!value.startsWith('./')) {
        if (isImports && !value.startsWith('../') && !value.startsWith('/')) return { bare: text };
        throw coded(Error, 'ERR_INVALID_PACKAGE_TARGET', `Invalid "exports" target ${JSON.stringify(value)} defined in the package config ${where.file}`);
      }
      if (/(^|\/)(\.\.?|node_modules)(\/|$)/.test(text.slice(2))) throw coded(Error, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${text}" in the package config ${where.file}`);
      return { file: path.join(where.directory, text) };
    }
    if (Array.isArray(value)) { let last; for (const one of value) { try { last = target(where, one, matched, conditions, isImports); } catch (error) { if (error.code !== 'ERR_INVALID_PACKAGE_TARGET') throw error; continue; } if (last) return last; } return last; }
    if (value === null || typeof value !== 'object') return value === null ? null : undefined;
    for (const key of Object.keys(value)) {
      if (key !== 'default' && !conditions.includes(key)) continue;
      const found = target(where, value[key], matched, conditions, isImports);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  function mapped(where, table, name, conditions, isImports) {
    if (own(table, name) && !name.includes('*') && !name.endsWith('/')) return target(where, table[name], null, conditions, isImports);
    let best = '', matched;
    for (const key of Object.keys(table)) {
      const star = key.indexOf('*');
      if (star < 0 || !name.startsWith(key.slice(0, star))) continue;
      const tail = key.slice(star + 1);
      if (name.length < key.length || !name.endsWith(tail) || star < best.indexOf('*')) continue;
      best = key; matched = name.slice(star, name.length - tail.length);
    }
    return best === '' ? undefined : target(where, table[best], matched, conditions, isImports);
  }
  function exported(where, subpath, conditions, from) {
    let table = where.content.exports;
    const isSugar = typeof table !== 'object' || Array.isArray(table) || table === null || !Object.keys(table).some((key) => key.startsWith('.'));
    if (isSugar) table = { '.': table };
    const found = mapped(where, table, subpath, conditions, false);
    if (!found) throw coded(Error, 'ERR_PACKAGE_PATH_NOT_EXPORTED', subpath === '.' ? `No "exports" main defined in ${where.file}${from ? ` imported from ${from}` : ''}` : `Package subpath '${subpath}' is not defined by "exports" in ${where.file}${from ? ` imported from ${from}` : ''}`);
    return found.file;
  }

  function withEndings(file) {
    if (isFile(file)) return file;
    for (const ending of ['.js', '.json', '.cjs']) if (isFile(file + ending)) return file + ending;
    return undefined;
  }
  function ofDirectory(directory) {
    const found = packageAt(directory);
    if (found && typeof found.content.main === 'string') {
      const main = path.resolve(directory, found.content.main);
      const file = withEndings(main) || (isDirectory(main) && withEndings(`${main}/index`));
      if (file) return file;
    }
    return withEndings(`${directory === '/' ? '' : directory}/index`);
  }
  const isRelative = (name) => /^\.\.?(\/|$)/.test(name);
  function split(name) {
    const parts = name.split('/');
    const count = name.startsWith('@') ? 2 : 1;
    if (parts.length < count || parts[0] === '' || parts[0].startsWith('.')) throw coded(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${name}" is not a valid package name`);
    return [parts.slice(0, count).join('/'), `.${parts.slice(count).map((part) => `/${part}`).join('')}`];
  }
  function places(directory) {
    const all = [];
    for (let at = directory; ; at = path.dirname(at)) { if (path.basename(at) !== 'node_modules') all.push(`${at === '/' ? '' : at}/node_modules`); if (at === '/') return all; }
  }
  function imported(name, from, conditions) {
    const where = packageOf(from);
    const found = where && where.content.imports ? mapped(where, where.content.imports, name, conditions, true) : undefined;
    if (!found) throw coded(TypeError, 'ERR_PACKAGE_IMPORT_NOT_DEFINED', `Package import specifier "${name}" is not defined${where ? ` in package ${where.file}` : ''} imported from ${from}`);
    return found;
  }
  function missing(name, from, isImport, stack) {
    if (isImport) return coded(Error, 'ERR_MODULE_NOT_FOUND', isRelative(name) || name.startsWith('/') ? `Cannot find module '${path.resolve(path.dirname(from), name)}' imported from ${from}` : `Cannot find package '${name}' imported from ${from}`);
    const list = [from, ...stack].filter(Boolean);
    const error = new Error(`Cannot find module '${name}'${list.length > 0 ? `\nRequire stack:\n- ${list.join('\n- ')}` : ''}`);
    error.code = 'MODULE_NOT_FOUND'; error.requireStack = list;
    return error;
  }
  // What a name leads to: the file, as its true path.
  function located(name, from, isImport, stack = []) {
    const conditions = isImport ? IMPORT : REQUIRE;
    const directory = path.dirname(from);
    let file;
    if (name.startsWith('#')) { const found = imported(name, from, conditions); if (found.bare !== undefined) return builtin(found.bare) ? { builtin: builtin(found.bare) } : located(found.bare, from, isImport, stack); file = found.file; }
    else if (isImport && name.startsWith('file:')) file = internal.fileURLToPath(name);
    else if (isRelative(name) || name.startsWith('/')) {
      const full = path.resolve(directory, name);
      if (isImport) {
        file = isFile(full) ? full : undefined;
        if (!file && isDirectory(full)) throw coded(Error, 'ERR_UNSUPPORTED_DIR_IMPORT', `Directory import '${full}' is not supported resolving ES modules imported from ${from}`);
      } else file = (!name.endsWith('/') && !/(^|\/)\.\.?$/.test(name) && withEndings(full)) || (isDirectory(full) ? ofDirectory(full) : undefined);
    } else {
      const [packageName, subpath] = split(name);
      const self = packageOf(from);
      if (self && self.content.name === packageName && self.content.exports !== undefined && self.content.exports !== null) file = exported(self, subpath, conditions, isImport && from);
      for (const place of file ? [] : places(directory)) {
        const at = `${place}/${packageName}`;
        if (!isDirectory(at)) { if (subpath === '.' && !isImport) { file = withEndings(at); if (file) break; } continue; }
        const found = packageAt(at);
        if (found && found.content.exports !== undefined && found.content.exports !== null) file = exported(found, subpath, conditions, isImport && from);
        else if (subpath === '.') file = ofDirectory(at);
        else { const full = path.join(at, subpath); file = isImport ? (isFile(full) ? full : undefined) : withEndings(full) || (isDirectory(full) ? ofDirectory(full) : undefined); }
        if (file) break;
      }
    }
    if (!file || !isFile(file)) throw missing(name, from, isImport, stack);
    return { file: fs.realpathSync(file) };
  }

  const isTypeScript = (file) => /\.[cm]?ts$/.test(file);
  function isModuleFile(file) {
    if (file.endsWith('.mjs') || file.endsWith('.mts')) return true;
    if (!file.endsWith('.js') && !file.endsWith('.ts')) return false;
    const found = packageOf(file);
    return Boolean(found && found.content.type === 'module');
  }
  // Whether a file is an ES module. One that says nothing of what it is, is one if it can be nothing else, as Node has it: it
  // is compiled as CommonJS, and if that fails, as the other.
  const kinds = new Map(), ready = new Map();
  function isModule(file) {
    if (isModuleFile(file)) return true;
    if (kinds.has(file)) return kinds.get(file);
    if (saysCommon(file)) return false;
    const text = source(file);
    let is = false;
    try { ready.set(file, { text, made: wrapped(text, file) }); } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      internal.columnsBefore.delete(file);
      readModule(text, file, error);
      is = true;
    }
    kinds.set(file, is);
    return is;
  }
  function saysCommon(file) {
    const by = Module._extensions[path.extname(file)];
    if (/\.c[jt]s$/.test(file) || (by !== undefined && by !== compiled)) return true;
    const found = packageOf(file);
    return Boolean(found && found.content.type === 'commonjs');
  }
  // Throws if it is no ES module either. It is compiled to be looked at, up to where it would import something.
  const LOOKED_AT = new Error('looked at');
  let isLookedAt = false;
  function readModule(text, file, before) {
    isLookedAt = true;
    try { native.readModule(`${text}\nimport 'node:process';`, file); } catch (error) { if (error !== LOOKED_AT) throw isFurther(error, before) ? error : before; } finally { isLookedAt = false; }
  }
  // Of two errors of syntax, whether one lies behind the other: where more was understood, more was meant.
  function isFurther(one, other) {
    const [[line, column], [before, at]] = [one, other].map((error) => (/:(\d+):(\d+)\)?$/m.exec(error.stack) || []).slice(1).map(Number));
    return !(one instanceof SyntaxError) || line > before || (line === before && column > at);
  }
  function wrapped(text, file) {
    internal.columnsBefore.set(file, wrapper[0].length);
    return native.compile(wrapper[0] + text + wrapper[1], file);
  }
  function source(file) {
    const text = checked(native.readText(file), 'open', file).replace(/^\ufeff/, '').replace(/^#!.*/, '');
    return isTypeScript(file) ? stripped(text, file) : text;
  }
  function stripped(text, file) {
    if (/\/node_modules\//.test(file)) throw coded(Error, 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING', `Stripping types is currently unsupported for files under node_modules, for "${internal.pathToFileURL(file).href}"`);
    const made = native.strip(text);
    if (typeof made === 'string') return made;
    const [line, column, isKnown, what] = made, place = `${file}:${line}:${column}`;
    if (isKnown) throw coded(SyntaxError, 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX', `${place}: ${what} is more than a type, and types alone are stripped`);
    throw coded(SyntaxError, 'ERR_INVALID_TYPESCRIPT_SYNTAX', `${place}: expected ${what}`);
  }

  function Module(id = '', parent) {
    this.id = id; this.path = path.dirname(id); this.exports = {}; this.filename = null; this.loaded = false; this.children = []; this.paths = [];
    Object.defineProperty(this, 'parent', { value: parent, enumerable: false, writable: true, configurable: true });
    if (parent) parent.children.push(this);
  }
  Module.prototype.require = function (name) { return Module._load(name, this); };
  Module.prototype._compile = function (content, file) {
    const known = ready.get(file);
    ready.delete(file);
    const made = known && known.text === content ? known.made : wrapped(content, file);
    return Reflect.apply(made, this.exports, [this.exports, requireOf(this), this, file, path.dirname(file)]);
  };
  Module._cache = Object.create(null);
  const compiled = (module, file) => {
    if (isModule(file)) throw coded(Error, 'ERR_REQUIRE_ESM', `require() of ES Module ${file}${module.parent ? ` from ${module.parent.filename}` : ''} not supported.`);
    module._compile(ready.has(file) ? ready.get(file).text : source(file), file);
  };
  Module._extensions = Object.assign(Object.create(null), {
    '.js': compiled,
    '.json'(module, file) { try { module.exports = parse(source(file)); } catch (error) { error.message = `${file}: ${error.message}`; throw error; } },
    '.node'(module, file) { throw coded(Error, 'ERR_DLOPEN_FAILED', `${file}: native addons cannot be loaded in a guest`); },
  });
  Module.builtinModules = [...builtins.keys()].sort();
  Module.isBuiltin = (name) => builtins.has(name.replace(/^node:/, ''));
  Module._resolveFilename = (name, parent) => { const inside = builtin(name); if (inside !== undefined) return name; return stackLocated(name, parent); };
  function stackLocated(name, parent) {
    const stack = [];
    for (let at = parent && parent.parent; at; at = at.parent) stack.push(at.filename);
    const found = located(name, (parent && parent.filename) || `${process.cwd()}/[eval]`, false, stack);
    return found.builtin ? `node:${found.builtin}` : found.file;
  }
  Module._load = (name, parent) => {
    if (typeof name !== 'string') throw badArgument('id', 'of type string', name);
    if (name === '') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'id' must be a non-empty string. Received ''");
    let inside = builtin(name);
    if (inside !== undefined) return builtins.get(inside);
    const file = stackLocated(name, parent);
    inside = file.startsWith('node:') ? builtin(file) : undefined;
    if (inside !== undefined) return builtins.get(inside);
    const known = Module._cache[file];
    if (known) { if (parent && !parent.children.includes(known)) parent.children.push(known); return known.exports; }
    const module = new Module(file, parent);
    Module._cache[file] = module;
    let isLoaded = false;
    try { load(module, file); isLoaded = true; } finally { if (!isLoaded) delete Module._cache[file]; }
    return module.exports;
  };
  function load(module, file) {
    module.filename = file; module.paths = places(path.dirname(file));
    const ending = path.extname(file);
    (Module._extensions[ending] || (ending === '.mjs' || ending === '.cjs' || true ? Module._extensions['.js'] : undefined))(module, file);
    module.loaded = true;
  }
  function requireOf(module) {
    const require = (name) => module.require(name);
    require.resolve = Object.assign((name) => Module._resolveFilename(name, module), { paths: (name) => (Module.isBuiltin(name) ? null : places(module.path)) });
    require.main = process.mainModule; require.cache = Module._cache; require.extensions = Module._extensions;
    return require;
  }
  Module.createRequire = (from) => {
    const file = from instanceof internal.URL || String(from).startsWith('file:') ? internal.fileURLToPath(from) : from;
    const module = new Module(file);
    module.filename = file; module.paths = places(path.dirname(file));
    return requireOf(module);
  };
  Module.Module = Module; Module._nodeModulePaths = places; Module.wrap = (text) => wrapper[0] + text + wrapper[1]; Module.wrapper = wrapper; Module.syncBuiltinESMExports = () => {}; Module.findSourceMap = () => undefined;
  builtins.set('module', Module);

  // ES modules: the engine asks what a name leads to, and for the text of that.
  const RESERVED = new Set('await break case catch class const continue debugger default delete do else enum export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static implements interface package private protected public eval arguments'.split(' '));
  const isName = (name) => /^[A-Za-z_$][\w$]*$/.test(name) && !RESERVED.has(name);
  function around(value, isBuiltin) {
    const names = new Set();
    if (value !== null && (typeof value === 'object' || typeof value === 'function')) for (const name of Object.keys(value)) if (isName(name) && name !== '__esModule' && name !== 'then') names.add(name);
    if (isBuiltin && typeof value === 'function') for (const name of Object.getOwnPropertyNames(value)) if (isName(name) && !['length', 'name', 'prototype', 'caller'].includes(name)) names.add(name);
    let text = 'const given = import.meta.given; delete import.meta.given; export default given.value;\n';
    let at = 0;
    for (const name of names) text += `const v${at} = given.value[${JSON.stringify(name)}]; export { v${at++} as ${name} };\n`;
    return [text, { given: { value } }];
  }
  internal.hooks.resolve = (base, name) => {
    if (isLookedAt) throw LOOKED_AT;
    const inside = builtin(name);
    if (inside !== undefined) return `node:${inside}`;
    if (name.startsWith('data:')) return name;
    const from = base.startsWith('file:') ? internal.fileURLToPath(base) : base.startsWith('/') ? base : `${process.cwd()}/[eval]`;
    const found = located(name, from, true);
    return found.builtin ? `node:${found.builtin}` : found.file;
  };
  internal.hooks.load = (name) => {
    if (name.startsWith('node:')) return around(builtins.get(name.slice(5)), true);
    if (name.startsWith('data:')) return [internal.fromUtf8(internal.Buffer.from(decodeURIComponent(name.slice(name.indexOf(',') + 1)), /;base64,/.test(name) ? 'base64' : 'utf8')), { url: name }];
    if (name.endsWith('.json')) return around(parse(source(name)), false);
    if (!isModule(name)) return around(Module._load(name, undefined), false);
    const url = internal.pathToFileURL(name).href;
    return [source(name), { url, filename: name, dirname: path.dirname(name), resolve: (other) => { const found = internal.hooks.resolve(name, other); return found.startsWith('/') ? internal.pathToFileURL(found).href : found; } }];
  };

  const first = native.workingDirectory();
  internal.hooks.main = (program, text, isCopy) => {
    internal.hooks.start();
    if (isCopy) internal.hooks.startAnew();
    // A directory that was asked for may have been named by a link.
    if (isCopy && native.workingDirectory() !== first) process.chdir(native.workingDirectory());
    const words = native.arguments();
    if (typeof text === 'string') {
      const name = path.resolve('[script]'), module = new Module(name, null);
      process.argv = [process.execPath, ...words.slice(1)];
      module.id = '[script]'; process.mainModule = module; module.paths = places(process.cwd());
      module._compile(text, name); module.loaded = true;
      return;
    }
    const given = path.resolve(program);
    const file = fs.realpathSync(isFile(given) ? given : withEndings(given) || (isDirectory(given) && ofDirectory(given)) || given);
    process.argv = [process.execPath, file, ...words.slice(1)];
    if (isModule(file)) { native.compile('(name) => import(name)', '/[main]')(file).catch((error) => { throwLater(error); }); return; }
    const module = new Module(file, null);
    module.id = '.'; process.mainModule = module; Module._cache[file] = module;
    load(module, file);
  };
  let failure;
  function throwLater(error) { failure = { error }; internal.nextTick(() => { throw failure.error; }); }

  for (const [name, value] of Object.entries(internal.globals)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask', 'structuredClone', 'performance', 'fetch', 'crypto', 'navigator', 'atob', 'btoa'].includes(name) });
  Object.defineProperty(globalThis, 'global', { value: globalThis, writable: true, configurable: true, enumerable: true });
  function clone(value, seen = new Map()) {
    if (typeof value === 'function' || typeof value === 'symbol') throw new internal.globals.DOMException(`${String(value)} could not be cloned.`, 'DataCloneError');
    if (value === null || typeof value !== 'object') return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (made) => { seen.set(value, made); return made; };
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) return keep(value instanceof Uint8Array ? Uint8Array.from(value) : new value.constructor(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)));
    if (value instanceof Map) { const made = keep(new Map()); for (const [key, one] of value) made.set(clone(key, seen), clone(one, seen)); return made; }
    if (value instanceof Set) { const made = keep(new Set()); for (const one of value) made.add(clone(one, seen)); return made; }
    if (value instanceof Error) { const Kind = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[value.name] || Error; const made = keep(new Kind(value.message)); if ('cause' in value) made.cause = clone(value.cause, seen); return made; }
    if (['Number', 'String', 'Boolean', 'BigInt'].includes(Object.prototype.toString.call(value).slice(8, -1))) return keep(Object(value.valueOf()));
    const made = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) made[key] = clone(value[key], seen);
    return made;
  }
  Object.defineProperty(globalThis, 'structuredClone', { value: (value) => clone(value), writable: true, configurable: true, enumerable: true });
})
