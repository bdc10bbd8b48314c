// `util` and `console`: values as text, as Node prints them.
(function (native, internal) {
  'use strict';
  const { badArgument, coded, ofSystem, messages } = internal.errors;
  const { EventEmitter, Buffer } = internal;
  const custom = Symbol.for('nodejs.util.inspect.custom');
  const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

  const types = {
    isDate: (value) => value instanceof Date, isRegExp: (value) => value instanceof RegExp,
    isMap: (value) => value instanceof Map, isSet: (value) => value instanceof Set,
    isWeakMap: (value) => value instanceof WeakMap, isWeakSet: (value) => value instanceof WeakSet,
    isPromise: (value) => value instanceof Promise, isNativeError: (value) => value instanceof Error,
    isArrayBuffer: (value) => value instanceof ArrayBuffer, isAnyArrayBuffer: (value) => value instanceof ArrayBuffer || tagOf(value) === 'SharedArrayBuffer',
    isArrayBufferView: (value) => ArrayBuffer.isView(value), isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
    isUint8Array: (value) => value instanceof Uint8Array, isDataView: (value) => value instanceof DataView,
    isAsyncFunction: (value) => typeof value === 'function' && tagOf(value) === 'AsyncFunction',
    isGeneratorFunction: (value) => typeof value === 'function' && tagOf(value).endsWith('GeneratorFunction'),
    isGeneratorObject: (value) => tagOf(value) === 'Generator', isSymbolObject: (value) => typeof value === 'object' && tagOf(value) === 'Symbol',
    isBoxedPrimitive: (value) => typeof value === 'object' && ['Number', 'String', 'Boolean', 'Symbol', 'BigInt'].includes(tagOf(value)),
    isNumberObject: (value) => value instanceof Number, isStringObject: (value) => value instanceof String, isBooleanObject: (value) => value instanceof Boolean,
    isProxy: () => false, isExternal: () => false, isModuleNamespaceObject: (value) => tagOf(value) === 'Module',
  };

  const styles = { number: 'yellow', bigint: 'yellow', boolean: 'yellow', string: 'green', symbol: 'green', undefined: 'grey', null: 'bold', special: 'cyan', date: 'magenta', regexp: 'red', module: 'underline', name: undefined };
  const colors = { bold: [1, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39] };

  function quoted(text) {
    let quote = "'";
    if (text.includes("'")) { if (!text.includes('"')) quote = '"'; else if (!text.includes('`') && !text.includes('${')) quote = '`'; }
    const escapes = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\b': '\\b', '\f': '\\f', '\v': '\\v', '\\': '\\\\' };
    // eslint-disable-next-line no-control-regex
    const body = text.replace(/[\x00-\x1f\x7f-\x9f\\'"`]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (char) => {
      if (char === quote) return `\\${char}`;
      if (char === "'" || char === '"' || char === '`') return char;
      const code = char.charCodeAt(0);
      return escapes[char] || (code > 255 ? `\\u${code.toString(16).toUpperCase()}` : `\\x${code.toString(16).toUpperCase().padStart(2, '0')}`);
    });
    return quote + body + quote;
  }
  const number = (value) => (Object.is(value, -0) ? '-0' : String(value));

  function primitive(value, context, typed) {
    const style = context.stylize;
    switch (typeof value) {
      case 'string': {
        let text = value, more = '';
        if (text.length > context.maxStringLength) { const left = text.length - context.maxStringLength; text = text.slice(0, context.maxStringLength); more = `... ${left} more character${left > 1 ? 's' : ''}`; }
        if (typed !== true && context.compact !== true && text.length > 16 && text.length > context.breakLength - context.indentation - 4 && text.includes('\n')) {
          return text.split(/(?<=\n)/).map((line) => style(quoted(line), 'string')).join(` +\n${' '.repeat(context.indentation + 2)}`) + more;
        }
        return style(quoted(text), 'string') + more;
      }
      case 'number': return style(number(value), 'number');
      case 'bigint': return style(`${value}n`, 'bigint');
      case 'boolean': return style(String(value), 'boolean');
      case 'undefined': return style('undefined', 'undefined');
      case 'symbol': return style(value.toString(), 'symbol');
      default: return style('null', 'null');
    }
  }

  function constructorName(value) {
    for (let at = value; at !== null; at = Object.getPrototypeOf(at)) {
      const own = Object.getOwnPropertyDescriptor(at, 'constructor');
      if (own && typeof own.value === 'function' && own.value.name !== '') {
        return own.value.name;
      }
    }
    return null;
  }
  function prefixed(name, tag, fallback, size = '') {
    if (name === null) return tag !== '' && fallback !== tag ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
    return tag !== '' && name !== tag ? `${name}${size} [${tag}] ` : `${name}${size} `;
  }
  function keysOf(value, context) {
    const symbols = Object.getOwnPropertySymbols(value);
    if (context.showHidden) return [...Object.getOwnPropertyNames(value), ...symbols];
    const keys = Object.keys(value);
    return symbols.length === 0 ? keys : [...keys, ...symbols.filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))];
  }

  function format(context, value, level, typed) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return primitive(value, context, typed);
    const own = value[custom];
    if (context.customInspect && typeof own === 'function' && own !== inspect && !(value.constructor && value.constructor.prototype === value)) {
      const depth = context.depth === null ? null : context.depth - level;
      const made = own.call(value, depth, { ...context.options, depth, stylize: context.stylize }, inspect);
      if (made !== value) return typeof made === 'object' && made !== null ? format(context, made, level) : String(made).replaceAll('\n', `\n${' '.repeat(context.indentation)}`);
    }
    if (context.seen.includes(value)) {
      if (!context.circular.has(value)) context.circular.set(value, context.circular.size + 1);
      return context.stylize(`[Circular *${context.circular.get(value)}]`, 'special');
    }
    return raw(context, value, level, typed);
  }

  function raw(context, value, level, typed) {
    const name = constructorName(value);
    let tag = value[Symbol.toStringTag];
    if (typeof tag !== 'string' || (tag !== '' && (name === tag || (value.constructor && value.constructor.name === tag)))) tag = '';
    let base = '', formatter = () => [], braces = ['{', '}'], keys = keysOf(value, context), isList = false;
    if (Array.isArray(value)) {
      const prefix = name !== 'Array' || tag !== '' ? prefixed(name, tag, 'Array', `(${value.length})`) : '';
      keys = keys.filter((key) => typeof key === 'symbol' || !/^(0|[1-9]\d*)$/.test(key) || Number(key) >= value.length);
      braces = [`${prefix}[`, ']'];
      if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
      isList = true; formatter = formatArray;
    } else if (value instanceof Set) {
      if (value.size === 0 && keys.length === 0) return `${prefixed(name, tag, 'Set', '(0)')}{}`;
      braces[0] = `${prefixed(name, tag, 'Set', `(${value.size})`)}{`;
      formatter = (ctx, set, depth) => [...set].map((one) => indented(ctx, () => format(ctx, one, depth)));
    } else if (value instanceof Map) {
      if (value.size === 0 && keys.length === 0) return `${prefixed(name, tag, 'Map', '(0)')}{}`;
      braces[0] = `${prefixed(name, tag, 'Map', `(${value.size})`)}{`;
      formatter = (ctx, map, depth) => [...map].map(([key, one]) => indented(ctx, () => `${format(ctx, key, depth)} => ${format(ctx, one, depth)}`));
    } else if (types.isTypedArray(value)) {
      if (Buffer !== undefined && value instanceof Buffer) {
        const shown = Array.from(Uint8Array.prototype.slice.call(value, 0, 50), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
        const more = value.length > 50 ? ` ... ${value.length - 50} more byte${value.length > 51 ? 's' : ''}` : '';
        return `<${name}${shown === '' ? '' : ` ${shown}`}${more}>`;
      }
      keys = keys.filter((key) => typeof key === 'symbol' || !/^\d+$/.test(key));
      braces = [`${prefixed(name, tag, tagOf(value), `(${value.length})`)}[`, ']'];
      if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
      isList = true; formatter = formatArray;
    } else if (typeof value === 'function') {
      base = ofFunction(value, name, tag);
      if (keys.length === 0) return context.stylize(base, 'special');
    } else if (value instanceof RegExp) {
      base = context.stylize(RegExp.prototype.toString.call(value), 'regexp');
      if (keys.length === 0) return base;
    } else if (value instanceof Date) {
      base = context.stylize(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString(), 'date');
      if (keys.length === 0) return base;
    } else if (value instanceof Error) {
      base = ofError(context, value, keys);
      if (keys.length === 0) return base;
    } else if (tagOf(value) === 'Arguments') {
      braces[0] = '[Arguments] {';
      if (keys.length === 0) return '[Arguments] {}';
    } else if (value instanceof ArrayBuffer) {
      braces[0] = `${prefixed(name, tag, 'ArrayBuffer')}{`;
      const bytes = new Uint8Array(value);
      const shown = Array.from(bytes.subarray(0, 50), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
      formatter = () => [`${context.stylize('[Uint8Contents]', 'special')}: <${shown}${bytes.length > 50 ? ` ... ${bytes.length - 50} more bytes` : ''}>`, `byteLength: ${format(context, value.byteLength, 0)}`];
    } else if (value instanceof Promise) {
      braces[0] = `${prefixed(name, tag, 'Promise')}{`;
      formatter = () => [context.stylize('<pending>', 'special')];
    } else if (value instanceof WeakMap || value instanceof WeakSet) {
      braces[0] = `${prefixed(name, tag, tagOf(value))}{`;
      formatter = () => [context.stylize('<items unknown>', 'special')];
    } else if (tagOf(value) === 'Module') {
      braces[0] = '[Module: null prototype] {';
    } else if (types.isBoxedPrimitive(value)) {
      const kind = tagOf(value), inner = value.valueOf();
      if (kind === 'String') keys = keys.filter((key) => typeof key === 'symbol' || !/^\d+$/.test(key));
      base = context.stylize(`[${kind}${kind !== name && name !== null ? ` (${name})` : ''}: ${primitive(inner, { ...context, stylize: (text) => text }, true)}]`, kind.toLowerCase());
      if (keys.length === 0) return base;
    } else if (typeof value[Symbol.iterator] === 'function' && /Iterator$/.test(tagOf(value)) && (tagOf(value) === 'Map Iterator' || tagOf(value) === 'Set Iterator')) {
      braces[0] = `[${tagOf(value)}] {`;
    } else {
      if (keys.length === 0) return `${name === 'Object' && tag === '' ? '' : prefixed(name, tag, 'Object')}{}`;
      braces[0] = `${name === 'Object' && tag === '' ? '' : prefixed(name, tag, 'Object')}{`;
    }
    if (context.depth !== null && level > context.depth) {
      const shown = Array.isArray(value) ? 'Array' : prefixed(name, tag, 'Object').slice(0, -1);
      return context.stylize(name === null ? `[${shown.replace(/^\[|\]$/g, '')}]` : `[${shown}]`, 'special');
    }
    context.seen.push(value);
    context.level = level;
    let output;
    const before = context.indentation;
    try {
      output = formatter(context, value, level + 1);
      for (const key of keys) output.push(property(context, value, level + 1, key, isList));
    } finally { context.seen.pop(); context.indentation = before; }
    if (context.circular.has(value)) {
      const reference = context.stylize(`<ref *${context.circular.get(value)}>`, 'special');
      if (context.compact !== true) base = base === '' ? reference : `${reference} ${base}`; else braces[0] = `${reference} ${braces[0]}`;
    }
    if (context.sorted && !isList) output.sort(context.sorted === true ? undefined : context.sorted);
    return reduced(context, output, base, braces, isList, level, value);
  }

  function indented(context, make) {
    context.indentation += 2;
    const made = make();
    context.indentation -= 2;
    return made;
  }
  function formatArray(context, value, level) {
    const output = [], most = Math.min(Math.max(0, context.maxArrayLength), value.length);
    let at = 0;
    for (; at < value.length && output.length < most; at++) {
      if (!(at in value)) {
        let end = at;
        while (end < value.length && !(end in value)) end++;
        const count = end - at;
        output.push(context.stylize(`<${count} empty item${count > 1 ? 's' : ''}>`, 'undefined'));
        at = end - 1;
      } else output.push(property(context, value, level, at, true, true));
    }
    const left = value.length - at;
    if (left > 0) { output.push(`... ${left} more item${left > 1 ? 's' : ''}`); context.hasMore = true; }
    return output;
  }
  function property(context, value, level, key, isList, isElement) {
    const own = Object.getOwnPropertyDescriptor(value, key) || { value: value[key], enumerable: true };
    let text;
    if (own.value !== undefined || !(own.get || own.set)) {
      const wide = context.compact !== true || !isElement ? 2 : 3;
      context.indentation += wide;
      text = format(context, own.value, level);
      if (wide === 3 && context.breakLength < text.length) text = `\n${' '.repeat(context.indentation)}${text}`;
      context.indentation -= wide;
    } else if (own.get) text = context.stylize(own.set ? '[Getter/Setter]' : '[Getter]', 'special');
    else text = context.stylize('[Setter]', 'special');
    if (isElement) return text;
    let name;
    if (typeof key === 'symbol') name = `[${context.stylize(key.toString(), 'symbol')}]`;
    else if (key === '__proto__') name = "['__proto__']";
    else if (own.enumerable === false) name = `[${key}]`;
    else name = /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key) ? context.stylize(key, 'name') : context.stylize(quoted(key), 'string');
    return `${name}: ${text}`;
  }
  function ofFunction(value, name, tag) {
    if (/^class[\s{]/.test(Function.prototype.toString.call(value))) {
      const above = Object.getPrototypeOf(value);
      let text = `[class ${value.name === '' ? '(anonymous)' : value.name}`;
      if (name !== 'Function' && name !== null) text += ` [${name}]`;
      if (above && above.name) text += ` extends ${above.name}`; else if (above === null) text += ' extends [null prototype]';
      return `${text}]`;
    }
    const kind = tagOf(value).endsWith('Function') ? tagOf(value) : 'Function';
    let text = `[${kind}`;
    if (name === null) text += ' (null prototype)';
    text += value.name === '' ? ' (anonymous)' : `: ${value.name}`;
    text += ']';
    if (name !== kind && name !== null && name !== 'Function') text += ` ${name}`;
    return text;
  }
  function ofError(context, error, keys) {
    const header = (() => {
      const message = String(error.message), name = error.name !== undefined ? String(error.name) : 'Error';
      return message === '' ? name : name === '' ? message : `${name}: ${message}`;
    })();
    const stack = typeof error.stack === 'string' ? error.stack.trimEnd() : '';
    let text = stack === '' ? `[${header}]` : stack.startsWith(header) || /^\w*Error( \[\w+\])?:?/.test(stack) ? stack : `${header}\n${stack}`;
    for (const name of ['name', 'message', 'stack']) {
      const at = keys.indexOf(name);
      if (at !== -1 && text.includes(String(error[name]))) keys.splice(at, 1);
    }
    if ('cause' in error && Object.prototype.hasOwnProperty.call(error, 'cause') && !keys.includes('cause')) keys.push('cause');
    if (Array.isArray(error.errors) && Object.prototype.hasOwnProperty.call(error, 'errors') && !keys.includes('errors')) keys.push('errors');
    if (context.indentation > 0) text = text.replaceAll('\n', `\n${' '.repeat(context.indentation)}`);
    return text;
  }
  const width = (text) => { let count = 0; for (const char of text.replace(/\u001b\[\d+m/g, '')) { const code = char.codePointAt(0); count += code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) || (code >= 0x1f300 && code <= 0x1faff)) ? 2 : 1; } return count; };

  function reduced(context, output, base, braces, isList, level, value) {
    if (context.compact !== true) {
      const entries = output.length;
      if (isList && context.compact >= 1 && entries > 6) output = grouped(context, output, value);
      if (context.level - level < context.compact && entries === output.length) {
        const start = output.length + context.indentation + braces[0].length + base.length + 10;
        let total = output.length + start;
        const fits = total + output.length <= context.breakLength && output.every((one) => (total += context.colors ? width(one) : one.length) <= context.breakLength);
        if (fits && (base === '' || !base.includes('\n'))) {
          const joined = output.join(', ');
          if (!joined.includes('\n')) return `${base ? `${base} ` : ''}${braces[0]} ${joined} ${braces[1]}`;
        }
      }
      const indent = `\n${' '.repeat(context.indentation)}`;
      return `${base ? `${base} ` : ''}${braces[0]}${indent}  ${output.join(`,${indent}  `)}${indent}${braces[1]}`;
    }
    const indent = ' '.repeat(context.indentation);
    const joined = output.join(', ');
    if (joined.length + output.length + braces[0].length <= context.breakLength && !joined.includes('\n')) return `${braces[0]}${base ? ` ${base}` : ''} ${joined} ${braces[1]}`;
    return `${base ? `${base} ` : ''}${braces[0]}\n${indent}  ${output.join(`,\n${indent}  `)} ${braces[1]}`;
  }
  function grouped(context, output, value) {
    let total = 0, longest = 0, at = 0;
    let length = output.length;
    if (context.hasMore && context.maxArrayLength < value.length) length--;
    const sizes = new Array(length);
    for (; at < length; at++) {
      const size = context.colors ? width(output[at]) : output[at].length;
      sizes[at] = size;
      total += size + 2;
      if (longest < size) longest = size;
    }
    const actual = longest + 2;
    if (actual * 3 + context.indentation < context.breakLength && (total / actual > 5 || longest <= 6)) {
      const bias = Math.max(actual - 3 - Math.sqrt(actual - total / output.length), 1);
      const columns = Math.min(Math.round(Math.sqrt(2.5 * bias * length) / bias), Math.floor((context.breakLength - context.indentation) / actual), context.compact * 4, 15);
      if (columns <= 1) return output;
      const made = [], widths = [];
      for (let column = 0; column < columns; column++) {
        let line = 0;
        for (let index = column; index < output.length; index += columns) if (sizes[index] > line) line = sizes[index];
        widths.push(line + 2);
      }
      let pad = String.prototype.padStart;
      if (value !== undefined) for (let index = 0; index < output.length; index++) if (typeof value[index] !== 'number' && typeof value[index] !== 'bigint') { pad = String.prototype.padEnd; break; }
      for (let index = 0; index < length; index += columns) {
        const most = Math.min(index + columns, length);
        let text = '', inner = index;
        for (; inner < most - 1; inner++) text += pad.call(`${output[inner]}, `, widths[inner - index] + output[inner].length - sizes[inner], ' ');
        if (pad === String.prototype.padStart) text += output[inner].padStart(widths[inner - index] + output[inner].length - sizes[inner] - 2, ' ');
        else text += output[inner];
        made.push(text);
      }
      if (length < output.length) made.push(output[length]);
      output = made;
    }
    return output;
  }

  const defaults = { showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100, maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false };
  function inspect(value, options, ...rest) {
    const context = { ...defaults, seen: [], circular: new Map(), indentation: 0, level: 0 };
    if (typeof options === 'object' && options !== null) { for (const [key, one] of Object.entries(options)) if (key in defaults) context[key] = one; }
    else if (options !== undefined) { context.showHidden = options; if (rest[0] !== undefined) context.depth = rest[0]; if (rest[1] !== undefined) context.colors = rest[1]; }
    context.options = { ...defaults, ...(typeof options === 'object' ? options : {}) };
    if (context.maxArrayLength === null) context.maxArrayLength = Infinity;
    if (context.maxStringLength === null) context.maxStringLength = Infinity;
    if (context.depth === Infinity) context.depth = null;
    context.stylize = context.colors ? (text, style) => (styles[style] ? `\u001b[${colors[styles[style]][0]}m${text}\u001b[${colors[styles[style]][1]}m` : text) : (text) => text;
    return format(context, value, 0);
  }
  Object.assign(inspect, { custom, defaultOptions: defaults, styles, colors });

  function formatWith(options, ...all) {
    const first = all[0];
    let text = '', at = 0;
    if (typeof first === 'string' && all.length > 1) {
      at = 1;
      text = first.replace(/%[sdifjoOc%]/g, (mark) => {
        if (mark === '%%') return '%';
        if (at >= all.length) return mark;
        const value = all[at++];
        switch (mark[1]) {
          case 's': {
            if (typeof value === 'bigint') return `${value}n`;
            if (typeof value === 'number') return number(value);
            if (typeof value !== 'object' || value === null) return String(value);
            const plain = !(value instanceof Error) && value.toString !== Object.prototype.toString && typeof value.toString === 'function' && !Array.isArray(value) && (Object.prototype.hasOwnProperty.call(value, 'toString') || value instanceof Date || !(constructorName(value) in globalThis));
            return value instanceof Error || plain ? String(value) : inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
          }
          case 'd': return typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'NaN' : number(Number(value));
          case 'i': return typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'NaN' : number(Number.parseInt(value, 10));
          case 'f': return typeof value === 'symbol' ? 'NaN' : number(Number.parseFloat(value));
          case 'j': try { return String(JSON.stringify(value)); } catch (error) { if (/circular/i.test(error.message)) return '[Circular]'; throw error; }
          case 'o': return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
          case 'O': return inspect(value, options);
          default: return '';
        }
      });
    } else if (typeof first === 'string') { at = 1; text = first; }
    else if (all.length > 0) { at = 1; text = inspect(first, options); }
    for (; at < all.length; at++) text += ` ${typeof all[at] === 'string' ? all[at] : inspect(all[at], options)}`;
    return text;
  }

  const promisified = Symbol.for('nodejs.util.promisify.custom');
  function promisify(original) {
    if (typeof original !== 'function') throw badArgument('original', 'of type function', original);
    if (original[promisified]) return original[promisified];
    function wrapped(...rest) {
      return new Promise((resolve, reject) => {
        Reflect.apply(original, this, [...rest, (error, ...values) => (error ? reject(error) : resolve(values[0]))]);
      });
    }
    Object.setPrototypeOf(wrapped, Object.getPrototypeOf(original));
    return Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(original));
  }
  promisify.custom = promisified;
  internal.promisify = promisify;

  function equal(one, other, strict, seen = []) {
    if (strict ? Object.is(one, other) : one == other || (one !== one && other !== other)) return true; // eslint-disable-line
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
    if (strict && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
    if (tagOf(one) !== tagOf(other) || Array.isArray(one) !== Array.isArray(other)) return false;
    if (seen.some(([first, second]) => first === one && second === other)) return true;
    seen = [...seen, [one, other]];
    if (one instanceof Date && one.getTime() !== other.getTime()) return false;
    if (one instanceof RegExp && String(one) !== String(other)) return false;
    if (one instanceof Error && (one.message !== other.message || one.name !== other.name)) return false;
    if (types.isBoxedPrimitive(one) && !Object.is(one.valueOf(), other.valueOf())) return false;
    if (ArrayBuffer.isView(one) && !(one instanceof DataView)) { if (one.length !== other.length) return false; for (let at = 0; at < one.length; at++) if (!Object.is(one[at], other[at])) return false; return true; }
    if (one instanceof Set) {
      if (one.size !== other.size) return false;
      for (const value of one) if (!other.has(value) && ![...other].some((candidate) => equal(value, candidate, strict, seen))) return false;
    }
    if (one instanceof Map) {
      if (one.size !== other.size) return false;
      for (const [key, value] of one) {
        if (other.has(key)) { if (!equal(value, other.get(key), strict, seen)) return false; }
        else if (![...other].some(([candidate, second]) => equal(key, candidate, strict, seen) && equal(value, second, strict, seen))) return false;
      }
    }
    const context = { showHidden: false };
    const keys = keysOf(one, context), others = keysOf(other, context);
    return keys.length === others.length && keys.every((key) => Object.prototype.hasOwnProperty.call(other, key) && equal(one[key], other[key], strict, seen));
  }
  internal.equal = equal;

  const util = {
    inspect, types, promisify, isDeepStrictEqual: (one, other) => equal(one, other, true),
    format: (...all) => formatWith({}, ...all), formatWithOptions: (options, ...all) => formatWith(options, ...all),
    inherits(one, above) { Object.defineProperty(one, 'super_', { value: above, writable: true, configurable: true }); Object.setPrototypeOf(one.prototype, above.prototype); },
    deprecate(method, message, code) { let told = false; return function (...rest) { if (!told) { told = true; internal.warn && internal.warn(message, 'DeprecationWarning', code); } return new.target ? Reflect.construct(method, rest, new.target) : Reflect.apply(method, this, rest); }; },
    callbackify: (original) => function (...rest) { const callback = rest.pop(); Reflect.apply(original, this, rest).then((value) => internal.nextTick(callback, null, value), (error) => internal.nextTick(callback, error || coded(Error, 'ERR_FALSY_VALUE_REJECTION', 'Promise was rejected with falsy value'))); },
    debuglog: () => Object.assign(() => {}, { enabled: false }), debug: () => Object.assign(() => {}, { enabled: false }),
    stripVTControlCharacters: (text) => text.replace(/[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g, ''),
    toUSVString: (text) => String(text).toWellFormed(), isArray: Array.isArray,
    isError: (value) => value instanceof Error, isBoolean: (value) => typeof value === 'boolean', isNull: (value) => value === null, isNullOrUndefined: (value) => value == null,
    isNumber: (value) => typeof value === 'number', isString: (value) => typeof value === 'string', isSymbol: (value) => typeof value === 'symbol', isUndefined: (value) => value === undefined,
    isRegExp: types.isRegExp, isObject: (value) => value !== null && typeof value === 'object', isDate: types.isDate, isFunction: (value) => typeof value === 'function', isPrimitive: (value) => value === null || (typeof value !== 'object' && typeof value !== 'function'),
    getSystemErrorName: (number_) => (messages[-number_] || [])[0],
    styleText: (format_, text) => [format_].flat().reduceRight((made, name) => `\u001b[${colors[name][0]}m${made}\u001b[${colors[name][1]}m`, text),
    TextEncoder: internal.globals.TextEncoder, TextDecoder: internal.globals.TextDecoder,
  };
  internal.inspect = inspect;
  internal.builtins.set('util', util);
  internal.builtins.set('util/types', types);
  internal.builtins.set('sys', util);

  // What goes to a stream goes at once.
  class Console {
    #indent = ''; #counts = new Map(); #timers = new Map(); #out; #error;
    constructor(out, error) {
      if (out && out.stdout) { error = out.stderr; out = out.stdout; }
      this.#out = out && out.write ? (text) => out.write(text) : (text) => internal.say(1, text);
      this.#error = error && error.write ? (text) => error.write(text) : out && out.write ? this.#out : (text) => internal.say(2, text);
      for (const name of Object.getOwnPropertyNames(Console.prototype)) if (name !== 'constructor') Object.defineProperty(this, name, { value: this[name].bind(this), writable: true, enumerable: true, configurable: true });
    }
    #write(to, text) { if (this.#indent) text = this.#indent + text.replaceAll('\n', `\n${this.#indent}`); to(`${text}\n`); }
    log(...all) { this.#write(this.#out, formatWith({ breakLength: 80 }, ...all)); }
    info(...all) { this.log(...all); }
    debug(...all) { this.log(...all); }
    warn(...all) { this.#write(this.#error, formatWith({ breakLength: 80 }, ...all)); }
    error(...all) { this.warn(...all); }
    dir(value, options) { this.#write(this.#out, inspect(value, { customInspect: false, ...options })); }
    dirxml(...all) { this.log(...all); }
    trace(...all) { this.warn(`Trace${all.length > 0 ? `: ${formatWith({}, ...all)}` : ''}`); }
    assert(holds, ...all) { if (!holds) { if (typeof all[0] === 'string') all[0] = `Assertion failed: ${all[0]}`; else all.unshift('Assertion failed'); this.warn(...all); } }
    count(label = 'default') { const count = (this.#counts.get(`${label}`) || 0) + 1; this.#counts.set(`${label}`, count); this.log(`${label}: ${count}`); }
    countReset(label = 'default') { this.#counts.delete(`${label}`); }
    group(...all) { if (all.length > 0) this.log(...all); this.#indent += '  '; }
    groupCollapsed(...all) { this.group(...all); }
    groupEnd() { this.#indent = this.#indent.slice(0, -2); }
    time(label = 'default') { this.#timers.set(`${label}`, internal.now()); }
    timeEnd(label = 'default') { this.timeLog(label); this.#timers.delete(`${label}`); }
    timeLog(label = 'default', ...all) { const since = this.#timers.get(`${label}`); if (since !== undefined) this.log(`${label}: ${(internal.now() - since).toFixed(3)}ms`, ...all); }
    table(rows, columns) {
      if (rows === null || typeof rows !== 'object') { this.log(rows); return; }
      const cell = (value) => inspect(value, { depth: value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0, maxArrayLength: 3, breakLength: Infinity });
      const index = [], lines = [], names = []; let plain = false;
      const entries = rows instanceof Map ? [...rows].map(([key, value], at) => [at, { Key: key, Values: value }]) : rows instanceof Set ? [...rows].map((value, at) => [at, value]) : Object.entries(rows);
      for (const [key, row] of entries) {
        index.push(String(key));
        if (row !== null && typeof row === 'object') for (const name of columns || Object.keys(row)) if (!names.includes(name)) names.push(name);
        if (row === null || typeof row !== 'object') plain = true;
        lines.push(row);
      }
      const head = [rows instanceof Map || rows instanceof Set ? '(iteration index)' : '(index)', ...names, ...(plain ? ['Values'] : [])];
      const table = lines.map((row, at) => [index[at], ...names.map((name) => (row !== null && typeof row === 'object' && Object.prototype.hasOwnProperty.call(row, name) ? cell(row[name]) : '')), ...(plain ? [row === null || typeof row !== 'object' ? cell(row) : ''] : [])]);
      const widths = head.map((name, at) => Math.max(width(name), ...table.map((row) => width(row[at]))) + 2);
      const line = (row) => `│${row.map((text, at) => ` ${text}${' '.repeat(widths[at] - width(text) - 1)}`).join('│')}│`;
      const rule = (left, middle, right) => left + widths.map((count) => '─'.repeat(count)).join(middle) + right;
      this.log([rule('┌', '┬', '┐'), line(head), rule('├', '┼', '┤'), ...table.map(line), rule('└', '┴', '┘')].join('\n'));
    }
  }
  const console = new Console();
  console.Console = Console;
  internal.builtins.set('console', console);
  internal.globals.console = console;
  EventEmitter.prototype[custom] = undefined;
  delete EventEmitter.prototype[custom];
})
