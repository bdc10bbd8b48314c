// `fetch` and what belongs to it. What is reached decides the cage.
(function (native, internal) {
  'use strict';
  const { Buffer, binary } = internal;
  const { URL } = internal;
  const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #all = new Map();
    constructor(init) {
      if (init === undefined || init === null) return;
      if (typeof init !== 'object') throw new TypeError("Headers constructor: init is no object");
      if (typeof init[Symbol.iterator] === 'function') for (const [name, value] of init) this.append(name, value);
      else for (const name of Object.keys(init)) this.append(name, init[name]);
    }
    #key(name) { name = String(name); if (!NAME.test(name)) throw new TypeError(`Headers: ${name} is an invalid header name.`); return name.toLowerCase(); }
    #value(value) { value = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, ''); if (/[\0\r\n]/.test(value)) throw new TypeError(`Headers: ${value} is an invalid header value.`); return value; }
    append(name, value) { const key = this.#key(name); value = this.#value(value); this.#all.has(key) ? this.#all.get(key).push(value) : this.#all.set(key, [value]); }
    set(name, value) { this.#all.set(this.#key(name), [this.#value(value)]); }
    get(name) { const found = this.#all.get(this.#key(name)); return found ? found.join(', ') : null; }
    getSetCookie() { return [...(this.#all.get('set-cookie') || [])]; }
    has(name) { return this.#all.has(this.#key(name)); }
    delete(name) { this.#all.delete(this.#key(name)); }
    forEach(callback, self) { for (const [name, value] of this) Reflect.apply(callback, self, [value, name, this]); }
    *entries() { for (const name of [...this.#all.keys()].sort()) { if (name === 'set-cookie') for (const value of this.#all.get(name)) yield [name, value]; else yield [name, this.get(name)]; } }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return 'Headers'; }
  }

  // What is sent, and what it is.
  function bytesOf(body) {
    if (body === undefined || body === null) return [null, null];
    if (typeof body === 'string') return [Buffer.from(body), 'text/plain;charset=UTF-8'];
    if (body instanceof internal.globals.URLSearchParams) return [Buffer.from(String(body)), 'application/x-www-form-urlencoded;charset=UTF-8'];
    if (body instanceof ArrayBuffer) return [Buffer.from(body), null];
    if (ArrayBuffer.isView(body)) return [Buffer.from(body.buffer, body.byteOffset, body.byteLength), null];
    return [Buffer.from(String(body)), 'text/plain;charset=UTF-8'];
  }
  class Body {
    _bytes = null; bodyUsed = false;
    async #take() { if (this.bodyUsed) throw new TypeError('Body is unusable: Body has already been read'); if (this._bytes !== null) this.bodyUsed = true; return this._bytes || Buffer.alloc(0); }
    async arrayBuffer() { const bytes = await this.#take(); return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length); }
    async bytes() { return new Uint8Array(await this.arrayBuffer()); }
    async text() { return new internal.globals.TextDecoder().decode(await this.#take()); }
    async json() { return JSON.parse(await this.text()); }
    // One piece, which is all of it.
    get body() {
      if (this._bytes === null) return null;
      const own = this;
      let isRead = false;
      const read = async () => { if (isRead) return { done: true, value: undefined }; isRead = true; return { done: false, value: await own.bytes() }; };
      return { getReader: () => ({ read, releaseLock() {}, cancel: async () => { isRead = true; } }), async *[Symbol.asyncIterator]() { const { value } = await read(); if (value && value.length > 0) yield value; }, cancel: async () => { isRead = true; }, get locked() { return isRead; } };
    }
  }

  class Request extends Body {
    constructor(input, init = {}) {
      super();
      const from = input instanceof Request ? input : undefined;
      try { this.url = from ? from.url : new URL(String(input)).href; } catch (error) { const failure = new TypeError(`Failed to parse URL from ${input}`); failure.cause = error; throw failure; }
      this.method = String(init.method || (from && from.method) || 'GET');
      if (/^(delete|get|head|options|post|put)$/i.test(this.method)) this.method = this.method.toUpperCase();
      if (!NAME.test(this.method) || /^(connect|trace|track)$/i.test(this.method)) throw new TypeError(`'${this.method}' HTTP method is unsupported.`);
      this.headers = new Headers(init.headers || (from && from.headers));
      this.redirect = init.redirect || (from && from.redirect) || 'follow';
      this.signal = init.signal || (from && from.signal) || new internal.globals.AbortController().signal;
      const [bytes, type] = init.body === undefined && from ? [from._bytes, null] : bytesOf(init.body);
      if (bytes !== null && (this.method === 'GET' || this.method === 'HEAD')) throw new TypeError('Request with GET/HEAD method cannot have body.');
      this._bytes = bytes;
      if (type !== null && !this.headers.has('content-type')) this.headers.set('content-type', type);
    }
    clone() { return new Request(this); }
    get [Symbol.toStringTag]() { return 'Request'; }
  }

  class Response extends Body {
    constructor(body, init = {}) {
      super();
      this.status = init.status === undefined ? 200 : Number(init.status);
      if (!(this.status >= 200 && this.status <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
      this.statusText = init.statusText === undefined ? '' : String(init.statusText);
      this.headers = new Headers(init.headers);
      const [bytes, type] = bytesOf(body);
      this._bytes = bytes;
      if (type !== null && !this.headers.has('content-type')) this.headers.set('content-type', type);
      this.ok = this.status <= 299; this.url = ''; this.redirected = false; this.type = 'default';
    }
    clone() { const made = new Response(this._bytes, this); made.url = this.url; made.redirected = this.redirected; made.type = this.type; return made; }
    static json(value, init = {}) { const headers = new Headers(init.headers); if (!headers.has('content-type')) headers.set('content-type', 'application/json'); return new Response(JSON.stringify(value), { ...init, headers }); }
    static error() { const made = new Response(null); made.status = 0; made.ok = false; made.type = 'error'; return made; }
    static redirect(url, status = 302) { return new Response(null, { status, headers: { location: new URL(String(url)).href } }); }
    get [Symbol.toStringTag]() { return 'Response'; }
  }

  function failed(code, why, more) {
    const cause = new Error(why);
    cause.code = code;
    Object.assign(cause, more);
    const error = new TypeError('fetch failed');
    error.cause = cause;
    return error;
  }
  const OF_RESOLVER = { ENOTFOUND: -3008, EAI_AGAIN: -3001 };
  function unanswered(url, code, why) {
    if (!(code in OF_RESOLVER)) return failed(code, why);
    const { hostname } = new URL(url);
    return failed(code, `getaddrinfo ${code} ${hostname}`, { errno: OF_RESOLVER[code], syscall: 'getaddrinfo', hostname });
  }
  function once(url, method, headers, bytes) {
    return new Promise((resolve, reject) => {
      const number = native.request(method, url, [...headers].flat(), bytes === null ? '' : binary(bytes));
      if (number < 0) { const [code, text] = internal.errors.messages[-number] || ['EIO', 'failed']; reject(failed(code, text)); return; }
      internal.jobs.begin(number, (error, answer) => {
        if (error !== 0) reject(failed('EIO', 'failed')); else if (answer[0] === 0) reject(unanswered(url, answer[1], answer[2])); else resolve(answer);
      });
    });
  }
  function ofData(url) {
    const comma = url.indexOf(',');
    if (comma < 0) throw failed('ERR_INVALID_URL', 'invalid data URL');
    const type = url.slice(5, comma), text = decodeURIComponent(url.slice(comma + 1));
    return new Response(/;base64$/i.test(type) ? Buffer.from(text, 'base64') : Buffer.from(text), { headers: { 'content-type': type.replace(/;base64$/i, '') || 'text/plain;charset=US-ASCII' } });
  }
  async function follow(request) {
    let { url, method } = request, bytes = request._bytes, redirected = false;
    const headers = new Headers(request.headers);
    if (!headers.has('accept')) headers.set('accept', '*/*');
    for (let turns = 0; ; turns++) {
      if (url.startsWith('data:')) return ofData(url);
      if (!/^https?:/.test(url)) throw failed('ERR_INVALID_URL', 'unknown scheme');
      const [status, statusText, pairs, body] = await once(url.replace(/#.*$/, ''), method, headers, bytes);
      const found = new Headers();
      for (let at = 0; at < pairs.length; at += 2) found.append(pairs[at], pairs[at + 1]);
      const location = [301, 302, 303, 307, 308].includes(status) ? found.get('location') : null;
      if (location === null || request.redirect === 'manual') {
        const made = new Response([204, 205, 304].includes(status) || method === 'HEAD' ? null : Buffer.from(body), { status: Math.max(status, 200), statusText, headers: found });
        made.url = url; made.redirected = redirected; made.type = 'basic';
        return made;
      }
      if (request.redirect === 'error') throw failed('ERR_REDIRECT', 'unexpected redirect');
      if (turns >= 20) throw failed('ERR_REDIRECT', 'redirect count exceeded');
      const next = new URL(location, url);
      if (next.origin !== new URL(url).origin) for (const name of ['authorization', 'cookie', 'host', 'proxy-authorization']) headers.delete(name);
      if ((status === 303 && method !== 'HEAD') || ((status === 301 || status === 302) && method === 'POST')) { method = 'GET'; bytes = null; for (const name of ['content-type', 'content-length', 'content-encoding']) headers.delete(name); }
      url = next.href; redirected = true;
    }
  }
  function fetch(input, init) {
    return new Promise((resolve, reject) => {
      const request = new Request(input, init);
      const { signal } = request;
      if (signal.aborted) { reject(signal.reason); return; }
      signal.addEventListener('abort', () => reject(signal.reason));
      follow(request).then(resolve, reject);
    });
  }
  Object.assign(internal.globals, { fetch, Headers, Request, Response });
})
