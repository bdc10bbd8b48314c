// `URL` and `URLSearchParams` as the web has them, `url` and `querystring` as Node has them beside that.
(function (native, internal) {
  'use strict';
  const { coded, badArgument } = internal.errors;
  const { utf8, fromUtf8, Buffer } = internal;
  const PORTS = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
  const isSpecial = (protocol) => Object.prototype.hasOwnProperty.call(PORTS, protocol);
  const hex = (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  function escaped(text, also) {
    let made = '';
    for (const char of text) {
      const code = char.codePointAt(0);
      made += code <= 0x20 || code > 0x7e || also.includes(char) ? Array.from(utf8(char), hex).join('') : char;
    }
    return made;
  }
  function unescaped(text) {
    if (!text.includes('%')) return text;
    const bytes = utf8(text), made = [];
    for (let at = 0; at < bytes.length; at++) {
      const two = bytes[at] === 37 && at + 2 < bytes.length + 0 ? String.fromCharCode(bytes[at + 1], bytes[at + 2]) : '';
      if (/^[0-9a-fA-F]{2}$/.test(two)) { made.push(Number.parseInt(two, 16)); at += 2; } else made.push(bytes[at]);
    }
    return fromUtf8(Uint8Array.from(made));
  }
  const FRAGMENT = '"<>`', QUERY = '"<>#', PATH = '"<>#?`{}^', USER = '"<>#?`{}/:;=@[\\]^|';

  function ofHost(text, special) {
    if (text.startsWith('[')) { if (!/^\[[0-9a-fA-F:.]+\]$/.test(text)) return undefined; return sixth(text.slice(1, -1)); }
    if (!special) return /[\0\t\n\r #/<>?@[\\\]^|]/.test(text) ? undefined : escaped(text, '');
    let host = unescaped(text).normalize('NFC').toLowerCase();
    // eslint-disable-next-line no-control-regex
    if (/[^\x00-\x7f]/.test(host)) host = host.split(/[.\u3002]/).map((label) => (/[^\x00-\x7f]/.test(label) ? `xn--${punycode(label)}` : label)).join('.');
    // eslint-disable-next-line no-control-regex
    if (host === '' || /[\x00-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(host)) return undefined;
    return fourth(host);
  }
  function fourth(host) {
    const parts = host.split('.');
    if (parts[parts.length - 1] === '' && parts.length > 1) parts.pop();
    if (!/^(\d+|0x[0-9a-f]*)$/.test(parts[parts.length - 1])) return host;
    const numbers = parts.map((part) => (/^0x[0-9a-f]*$/.test(part) ? Number.parseInt(part.slice(2) || '0', 16) : /^0[0-7]*$/.test(part) ? Number.parseInt(part, 8) : /^\d+$/.test(part) ? Number(part) : NaN));
    if (parts.length > 4 || numbers.some(Number.isNaN) || numbers.slice(0, -1).some((one) => one > 255)) return undefined;
    const last = numbers.pop();
    if (last >= 256 ** (4 - numbers.length)) return undefined;
    const value = numbers.reduce((total, one, at) => total + one * 256 ** (3 - at), last);
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
  }
  function sixth(text) {
    let [left, right] = text.split('::');
    if (text.split('::').length > 2) return undefined;
    const words = (part) => (part === '' || part === undefined ? [] : part.split(':').flatMap((word) => { if (!word.includes('.')) return [Number.parseInt(word, 16)]; const four = word.split('.').map(Number); return [four[0] * 256 + four[1], four[2] * 256 + four[3]]; }));
    const one = words(left), other = words(right);
    const all = right === undefined ? one : [...one, ...new Array(Math.max(8 - one.length - other.length, 0)).fill(0), ...other];
    if (all.length !== 8 || all.some((word) => !(word >= 0 && word <= 0xffff))) return undefined;
    let best = -1, length = 1;
    for (let at = 0; at < 8; at++) { let end = at; while (end < 8 && all[end] === 0) end++; if (end - at > length) { best = at; length = end - at; } }
    const shown = all.map((word) => word.toString(16));
    return best < 0 ? `[${shown.join(':')}]` : `[${shown.slice(0, best).join(':')}::${shown.slice(best + length).join(':')}]`;
  }
  function punycode(label) {
    const points = Array.from(label, (char) => char.codePointAt(0));
    let made = points.filter((point) => point < 128).map((point) => String.fromCharCode(point)).join('');
    let done = made.length, next = 128, delta = 0, bias = 72;
    const basic = done;
    if (basic > 0) made += '-';
    while (done < points.length) {
      const least = Math.min(...points.filter((point) => point >= next));
      delta += (least - next) * (done + 1); next = least;
      for (const point of points) {
        if (point < next) delta++;
        if (point !== next) continue;
        let left = delta;
        for (let base = 36; ; base += 36) {
          const limit = base <= bias ? 1 : base >= bias + 26 ? 26 : base - bias;
          if (left < limit) break;
          const digit = limit + ((left - limit) % (36 - limit));
          made += String.fromCharCode(digit < 26 ? digit + 97 : digit + 22);
          left = Math.floor((left - limit) / (36 - limit));
        }
        made += String.fromCharCode(left < 26 ? left + 97 : left + 22);
        delta = done === basic ? Math.floor(delta / 700) : delta >> 1; delta += Math.floor(delta / (done + 1));
        bias = 0;
        while (delta > 455) { delta = Math.floor(delta / 35); bias += 36; }
        bias += Math.floor((36 * delta) / (delta + 38));
        delta = 0; done++;
      }
      delta++; next++;
    }
    return made;
  }
  function segments(path, special, before = []) {
    const all = [...before], parts = (special ? path.replaceAll('\\', '/') : path).split('/');
    parts.forEach((part, at) => {
      const lower = part.toLowerCase().replaceAll('%2e', '.'), isLast = at === parts.length - 1;
      if (lower === '..') { all.pop(); if (isLast) all.push(''); } else if (lower === '.') { if (isLast) all.push(''); } else all.push(escaped(part, PATH));
    });
    return all;
  }

  function parsed(text, base) {
    // eslint-disable-next-line no-control-regex
    text = text.replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
    const url = { protocol: '', username: '', password: '', host: null, port: '', path: [], opaque: null, query: null, fragment: null };
    let rest = text;
    const hash = rest.indexOf('#');
    if (hash >= 0) { url.fragment = escaped(rest.slice(hash + 1), FRAGMENT); rest = rest.slice(0, hash); }
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(rest);
    if (scheme) { url.protocol = `${scheme[1].toLowerCase()}:`; rest = rest.slice(scheme[0].length); }
    else if (!base) return undefined;
    else url.protocol = base.protocol;
    const special = isSpecial(url.protocol);
    const mark = rest.indexOf('?');
    if (mark >= 0) { url.query = escaped(rest.slice(mark + 1), special ? `${QUERY}'` : QUERY); rest = rest.slice(0, mark); }
    if (special) rest = rest.replaceAll('\\', '/');
    const isRelative = !scheme || (special && base && base.protocol === url.protocol && !rest.startsWith('/') && url.protocol !== 'file:' && scheme);
    if (isRelative && base && !rest.startsWith('//')) {
      if (base.opaque !== null) { if (rest !== '' || url.query !== null) return undefined; return { ...base, fragment: url.fragment }; }
      Object.assign(url, { username: base.username, password: base.password, host: base.host, port: base.port });
      if (rest === '') { url.path = [...base.path]; if (mark < 0) url.query = base.query; }
      else if (rest.startsWith('/')) url.path = segments(rest.slice(1), special);
      else url.path = segments(rest, special, base.path.slice(0, -1));
      return url;
    }
    if (special ? url.protocol !== 'file:' : rest.startsWith('//')) {
      rest = special ? rest.replace(/^\/*/, '') : rest.slice(2);
      const slash = rest.indexOf('/');
      let authority = slash < 0 ? rest : rest.slice(0, slash);
      rest = slash < 0 ? '' : rest.slice(slash);
      const at = authority.lastIndexOf('@');
      if (at >= 0) {
        const user = authority.slice(0, at), colon = user.indexOf(':');
        url.username = escaped(colon < 0 ? user : user.slice(0, colon), USER); url.password = colon < 0 ? '' : escaped(user.slice(colon + 1), USER);
        authority = authority.slice(at + 1);
      }
      const port = /:(\d*)$/.exec(authority);
      if (port && !(authority.startsWith('[') && !authority.includes(']:'))) { authority = authority.slice(0, port.index); if (port[1] !== '') { const number = Number(port[1]); if (number > 65535) return undefined; url.port = String(number) === PORTS[url.protocol] ? '' : String(number); } }
      else if (/:[^\]]*$/.test(authority) && !authority.endsWith(']')) return undefined;
      if (authority === '' && special) return undefined;
      url.host = authority === '' ? '' : ofHost(authority, special);
      if (url.host === undefined) return undefined;
    } else if (url.protocol === 'file:') {
      url.host = '';
      if (rest.startsWith('//')) { rest = rest.slice(2); const slash = rest.indexOf('/'); const host = slash < 0 ? rest : rest.slice(0, slash); rest = slash < 0 ? '' : rest.slice(slash); url.host = host === '' || host.toLowerCase() === 'localhost' ? '' : ofHost(host, true); if (url.host === undefined) return undefined; }
    } else if (!rest.startsWith('/')) { url.opaque = escaped(rest, '').replaceAll('%20', ' ').replace(/ +$/, ''); return url; }
    url.path = rest === '' ? (special ? [''] : []) : segments(rest.startsWith('/') ? rest.slice(1) : rest, special);
    if (special && url.path.length === 0) url.path = [''];
    return url;
  }

  const listed = new WeakMap();
  class URLSearchParams {
    #list = []; #url = null;
    constructor(from = '') {
      if (typeof from === 'object' && from !== null) {
        if (typeof from[Symbol.iterator] === 'function') for (const pair of from) { const two = [...pair]; if (two.length !== 2) throw coded(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple'); this.#list.push([String(two[0]), String(two[1])]); }
        else for (const key of Reflect.ownKeys(from)) { if (typeof key === 'string' && Object.prototype.propertyIsEnumerable.call(from, key)) this.#list.push([key, String(from[key])]); }
      } else this.#read(String(from));
    }
    #read(text) {
      if (text.startsWith('?')) text = text.slice(1);
      this.#list = text.split('&').filter((one) => one !== '').map((one) => { const at = one.indexOf('='); const [name, value] = at < 0 ? [one, ''] : [one.slice(0, at), one.slice(at + 1)]; return [unescaped(name.replaceAll('+', ' ')), unescaped(value.replaceAll('+', ' '))]; });
    }
    static attach(url, query, changed) { const made = new URLSearchParams(query); made.#url = changed; listed.set(url, made); return made; }
    reset(text) { this.#read(text); }
    #changed() { if (this.#url) this.#url(this.toString()); }
    get size() { return this.#list.length; }
    append(name, value) { this.#list.push([String(name), String(value)]); this.#changed(); }
    delete(name, value) { this.#list = this.#list.filter(([one, other]) => one !== String(name) || (value !== undefined && other !== String(value))); this.#changed(); }
    get(name) { const found = this.#list.find(([one]) => one === String(name)); return found ? found[1] : null; }
    getAll(name) { return this.#list.filter(([one]) => one === String(name)).map(([, value]) => value); }
    has(name, value) { return this.#list.some(([one, other]) => one === String(name) && (value === undefined || other === String(value))); }
    set(name, value) { const at = this.#list.findIndex(([one]) => one === String(name)); if (at < 0) this.#list.push([String(name), String(value)]); else { this.#list[at][1] = String(value); this.#list = this.#list.filter(([one], index) => index <= at || one !== String(name)); } this.#changed(); }
    sort() { this.#list.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)); this.#changed(); }
    forEach(callback, self) { for (const [name, value] of this.#list) callback.call(self, value, name, this); }
    *entries() { for (const [name, value] of this.#list) yield [name, value]; }
    *keys() { for (const [name] of this.#list) yield name; }
    *values() { for (const [, value] of this.#list) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() {
      const form = (text) => { let made = ''; for (const byte of utf8(text.toWellFormed())) { const char = String.fromCharCode(byte); made += byte === 32 ? '+' : /[A-Za-z0-9*\-._]/.test(char) ? char : hex(byte); } return made; };
      return this.#list.map(([name, value]) => `${form(name)}=${form(value)}`).join('&');
    }
    [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
      if (this.#list.length === 0) return 'URLSearchParams {}';
      return `URLSearchParams { ${this.#list.map(([name, value]) => `${inspect(name)} => ${inspect(value)}`).join(', ')} }`;
    }
    get [Symbol.toStringTag]() { return 'URLSearchParams'; }
  }
  class URL {
    #url; #params;
    constructor(text, base) {
      let from;
      if (base !== undefined) { from = parsed(String(base)); if (!from) throw Object.assign(coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL'), { input: String(text), base: String(base) }); }
      this.#url = parsed(String(text), from);
      if (!this.#url) throw Object.assign(coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL'), { input: String(text) });
    }
    static canParse(text, base) { try { new URL(text, base); return true; } catch { return false; } }
    static parse(text, base) { try { return new URL(text, base); } catch { return null; } }
    get href() {
      const { protocol, username, password, host, fragment, query } = this.#url;
      let made = protocol;
      if (host !== null) { made += '//'; if (username !== '' || password !== '') made += `${username}${password === '' ? '' : `:${password}`}@`; made += this.host; }
      else if (this.#url.opaque === null && this.#url.path.length > 1 && this.#url.path[0] === '') made += '/.';
      return made + this.pathname + (query === null ? '' : `?${query}`) + (fragment === null ? '' : `#${fragment}`);
    }
    set href(value) { const url = parsed(String(value)); if (!url) throw coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL'); this.#url = url; this.#renew(); }
    #renew() { if (this.#params) this.#params.reset(this.#url.query || ''); }
    get origin() { const { protocol } = this.#url; return isSpecial(protocol) && protocol !== 'file:' ? `${protocol}//${this.host}` : 'null'; }
    get protocol() { return this.#url.protocol; }
    set protocol(value) { const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):?/.exec(String(value)); if (scheme && isSpecial(`${scheme[1].toLowerCase()}:`) === isSpecial(this.#url.protocol)) { this.#url.protocol = `${scheme[1].toLowerCase()}:`; if (this.#url.port === PORTS[this.#url.protocol]) this.#url.port = ''; } }
    get username() { return this.#url.username; } set username(value) { if (this.#url.host) this.#url.username = escaped(String(value), USER); }
    get password() { return this.#url.password; } set password(value) { if (this.#url.host) this.#url.password = escaped(String(value), USER); }
    get host() { return this.#url.host === null ? '' : this.#url.host + (this.#url.port === '' ? '' : `:${this.#url.port}`); }
    set host(value) { const changed = parsed(`${this.protocol}//${value}`); if (changed && this.#url.opaque === null) { this.#url.host = changed.host; if (/:\d+$/.test(String(value))) this.#url.port = changed.port; } }
    get hostname() { return this.#url.host === null ? '' : this.#url.host; } set hostname(value) { const host = ofHost(String(value), isSpecial(this.protocol)); if (host !== undefined && this.#url.opaque === null) this.#url.host = host; }
    get port() { return this.#url.port; } set port(value) { const number = Number.parseInt(value, 10); if (String(value) === '') this.#url.port = ''; else if (number >= 0 && number <= 65535) this.#url.port = String(number) === PORTS[this.protocol] ? '' : String(number); }
    get pathname() { return this.#url.opaque !== null ? this.#url.opaque : this.#url.path.length === 0 ? '' : `/${this.#url.path.join('/')}`; }
    set pathname(value) { if (this.#url.opaque === null) { value = String(value); this.#url.path = segments(value.replace(/^\//, '').replaceAll('?', '%3F').replaceAll('#', '%23'), isSpecial(this.protocol)); } }
    get search() { return this.#url.query === null || this.#url.query === '' ? '' : `?${this.#url.query}`; }
    set search(value) { value = String(value).replace(/^\?/, ''); this.#url.query = value === '' ? null : escaped(value, isSpecial(this.protocol) ? `${QUERY}'` : QUERY); this.#renew(); }
    get hash() { return this.#url.fragment === null || this.#url.fragment === '' ? '' : `#${this.#url.fragment}`; }
    set hash(value) { value = String(value).replace(/^#/, ''); this.#url.fragment = value === '' ? null : escaped(value, FRAGMENT); }
    get searchParams() { if (!this.#params) this.#params = URLSearchParams.attach(this, this.#url.query || '', (text) => { this.#url.query = text === '' ? null : text; }); return this.#params; }
    toString() { return this.href; } toJSON() { return this.href; }
    [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
      const fields = {};
      for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash']) fields[name] = this[name];
      return `URL ${inspect(fields, options)}`;
    }
    get [Symbol.toStringTag]() { return 'URL'; }
  }
  function fileURLToPath(url) {
    if (typeof url === 'string') url = new URL(url);
    if (!(url instanceof URL)) throw badArgument('path', 'of type string or an instance of URL', url);
    if (url.protocol !== 'file:') throw coded(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
    if (url.hostname !== '') throw coded(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
    if (/%2f/i.test(url.pathname)) throw coded(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
    return unescaped(url.pathname);
  }
  function pathToFileURL(path) {
    let full = internal.path.resolve(path);
    if (path.endsWith('/') && !full.endsWith('/')) full += '/';
    return new URL(`file://${full.replaceAll('%', '%25').replaceAll('\\', '%5C').replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('\t', '%09').replaceAll('?', '%3F').replaceAll('#', '%23')}`);
  }
  function parse(text, asQuery = false) {
    const made = { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: '' };
    let rest = String(text).trim();
    const hash = rest.indexOf('#');
    if (hash >= 0) { made.hash = rest.slice(hash); rest = rest.slice(0, hash); }
    const mark = rest.indexOf('?');
    if (mark >= 0) { made.search = rest.slice(mark); made.query = rest.slice(mark + 1); rest = rest.slice(0, mark); }
    if (asQuery) { made.query = querystring.parse(made.query || ''); made.search = made.search || ''; }
    const scheme = /^([a-z0-9.+-]+:)/i.exec(rest);
    if (scheme) { made.protocol = scheme[1].toLowerCase(); rest = rest.slice(scheme[0].length); }
    if (rest.startsWith('//') && (scheme || /^\/\/[^@/]+@[^@/]+/.test(rest))) {
      made.slashes = true;
      const slash = rest.indexOf('/', 2);
      let host = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
      rest = slash < 0 ? '' : rest.slice(slash);
      const at = host.lastIndexOf('@');
      if (at >= 0) { made.auth = decodeURIComponent(host.slice(0, at)); host = host.slice(at + 1); }
      const port = /:(\d+)$/.exec(host);
      if (port) { made.port = port[1]; host = host.slice(0, port.index); }
      made.hostname = host.toLowerCase(); made.host = made.hostname + (port ? `:${port[1]}` : '');
      if (rest === '' && isSpecial(made.protocol)) rest = '/';
    }
    if (rest !== '') made.pathname = rest;
    if (made.pathname || made.search) made.path = (made.pathname || '') + (made.search || '');
    made.href = format(made);
    return made;
  }
  function format(url) {
    if (typeof url === 'string') url = parse(url);
    if (url instanceof URL) return url.href;
    let protocol = url.protocol || '';
    if (protocol && !protocol.endsWith(':')) protocol += ':';
    let host = '';
    if (url.host) host = (url.auth ? `${encodeURIComponent(url.auth).replace(/%3A/i, ':')}@` : '') + url.host;
    else if (url.hostname) host = (url.auth ? `${encodeURIComponent(url.auth).replace(/%3A/i, ':')}@` : '') + url.hostname + (url.port ? `:${url.port}` : '');
    let search = url.search || (url.query !== null && typeof url.query === 'object' && Object.keys(url.query).length > 0 ? `?${querystring.stringify(url.query)}` : '');
    if (search && !search.startsWith('?')) search = `?${search}`;
    let pathname = url.pathname || '', hash = url.hash || '';
    if (url.slashes || ((!protocol || isSpecial(protocol)) && host !== '')) { host = `//${host}`; if (pathname && !pathname.startsWith('/')) pathname = `/${pathname}`; }
    if (hash && !hash.startsWith('#')) hash = `#${hash}`;
    return protocol + host + pathname.replaceAll('?', '%3F').replaceAll('#', '%23') + search.replaceAll('#', '%23') + hash;
  }
  function resolve(from, to) {
    const base = new URL(to, new URL(from, 'resolve://')), text = base.href;
    if (base.protocol !== 'resolve:') return text;
    return base.pathname + base.search + base.hash;
  }
  const querystring = {
    escape: (text) => encodeURIComponent(text), unescape: (text) => { try { return decodeURIComponent(text); } catch { return unescaped(text); } },
    stringify(all, separator = '&', equals = '=') { const one = (value) => querystring.escape(typeof value === 'string' ? value : ['number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : ''); return Object.entries(all || {}).map(([key, value]) => (Array.isArray(value) ? value.map((inner) => `${one(key)}${equals}${one(inner)}`).join(separator) : `${one(key)}${equals}${one(value)}`)).filter((text) => text !== '').join(separator); },
    parse(text, separator = '&', equals = '=') {
      const made = Object.create(null);
      for (const part of String(text).split(separator)) {
        if (part === '') continue;
        const at = part.indexOf(equals);
        const [name, value] = (at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + equals.length)]).map((one) => querystring.unescape(one.replaceAll('+', ' ')));
        if (name in made) made[name] = [].concat(made[name], value); else made[name] = value;
      }
      return made;
    },
  };
  querystring.encode = querystring.stringify; querystring.decode = querystring.parse;
  void Buffer;
  Object.assign(internal, { URL, fileURLToPath, pathToFileURL });
  internal.builtins.set('url', { URL, URLSearchParams, fileURLToPath, pathToFileURL, parse, format, resolve, domainToASCII: (host) => ofHost(host, true) || '', domainToUnicode: (host) => host, urlToHttpOptions: (url) => ({ protocol: url.protocol, hostname: url.hostname, path: url.pathname + url.search, port: url.port === '' ? undefined : Number(url.port), href: url.href }) });
  internal.builtins.set('querystring', querystring);
  Object.assign(internal.globals, { URL, URLSearchParams });
})
