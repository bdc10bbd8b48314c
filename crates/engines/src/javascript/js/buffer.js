// `Buffer`, `TextEncoder`, `TextDecoder`, `atob` and `btoa`.
(function (native, internal) {
  'use strict';
  const { badArgument, outOfRange, coded, described } = internal.errors;
  const fromCharCode = String.fromCharCode;
  const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const URL64 = `${BASE64.slice(0, 62)}-_`;
  const VALUES = new Int16Array(256).fill(-1);
  for (let at = 0; at < 64; at++) { VALUES[BASE64.charCodeAt(at)] = at; VALUES[URL64.charCodeAt(at)] = at; }

  // Bytes as a text whose characters are bytes: how they are handed to the operations.
  function binary(bytes) {
    let text = '';
    for (let at = 0; at < bytes.length; at += 4096) text += Reflect.apply(fromCharCode, null, bytes.subarray(at, at + 4096));
    return text;
  }
  function ofBinary(text) {
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return bytes;
  }
  // The host takes whole characters alone.
  const wellFormed = (text) => (text.isWellFormed() ? text : text.toWellFormed());
  const utf8 = (text) => new Uint8Array(native.encode(wellFormed(text)));
  const say = (fd, text) => native.write(fd, wellFormed(text), false, -1);
  const fromUtf8 = (bytes) => native.decode(binary(bytes));
  function fromHex(text) {
    const bytes = [];
    for (let at = 0; at + 1 < text.length; at += 2) {
      const value = Number.parseInt(text.slice(at, at + 2), 16);
      if (Number.isNaN(value) || !/^[0-9a-fA-F]{2}$/.test(text.slice(at, at + 2))) break;
      bytes.push(value);
    }
    return Uint8Array.from(bytes);
  }
  function fromBase64(text) {
    const bytes = new Uint8Array(((text.length + 3) >> 2) * 3);
    let held = 0, bits = 0, count = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 61) break;
      const value = code < 256 ? VALUES[code] : -1;
      if (value < 0) continue;
      held = (held << 6) | value; bits += 6;
      if (bits >= 8) { bits -= 8; bytes[count++] = (held >> bits) & 255; }
    }
    return bytes.subarray(0, count);
  }
  function toBase64(bytes, letters, padded) {
    let text = '';
    for (let at = 0; at < bytes.length; at += 3) {
      const left = bytes.length - at;
      const word = (bytes[at] << 16) | ((left > 1 ? bytes[at + 1] : 0) << 8) | (left > 2 ? bytes[at + 2] : 0);
      text += letters[word >> 18] + letters[(word >> 12) & 63];
      if (left > 1) text += letters[(word >> 6) & 63]; else if (padded) text += '=';
      if (left > 2) text += letters[word & 63]; else if (padded) text += '=';
    }
    return text;
  }
  function named(encoding) {
    if (encoding === undefined || encoding === null || encoding === '') return 'utf8';
    switch (String(encoding).toLowerCase()) {
      case 'utf8': case 'utf-8': return 'utf8';
      case 'hex': return 'hex';
      case 'base64': return 'base64';
      case 'base64url': return 'base64url';
      case 'ascii': return 'ascii';
      case 'latin1': case 'binary': return 'latin1';
      case 'ucs2': case 'ucs-2': case 'utf16le': case 'utf-16le': return 'utf16le';
      default: return undefined;
    }
  }
  function encoded(text, encoding) {
    switch (named(encoding)) {
      case 'utf8': return utf8(text);
      case 'hex': return fromHex(text);
      case 'base64': case 'base64url': return fromBase64(text);
      case 'ascii': case 'latin1': return ofBinary(text);
      case 'utf16le': {
        const bytes = new Uint8Array(text.length * 2);
        for (let at = 0; at < text.length; at++) { const code = text.charCodeAt(at); bytes[at * 2] = code; bytes[at * 2 + 1] = code >> 8; }
        return bytes;
      }
      default: throw coded(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
    }
  }
  function decoded(bytes, encoding) {
    switch (named(encoding)) {
      case 'utf8': return fromUtf8(bytes);
      case 'hex': { let text = ''; for (const byte of bytes) text += (byte < 16 ? '0' : '') + byte.toString(16); return text; }
      case 'base64': return toBase64(bytes, BASE64, true);
      case 'base64url': return toBase64(bytes, URL64, false);
      case 'ascii': return binary(bytes.map((byte) => byte & 127));
      case 'latin1': return binary(bytes);
      case 'utf16le': { let text = ''; for (let at = 0; at + 1 < bytes.length; at += 2) text += fromCharCode(bytes[at] | (bytes[at + 1] << 8)); return text; }
      default: throw coded(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
    }
  }

  const own = (bytes) => { Object.setPrototypeOf(bytes, Buffer.prototype); return bytes; };
  function Buffer(value, ...rest) { return typeof value === 'number' ? Buffer.alloc(value) : Buffer.from(value, ...rest); }
  Object.setPrototypeOf(Buffer, Uint8Array);
  Buffer.prototype = Object.create(Uint8Array.prototype, { constructor: { value: Buffer, writable: true, configurable: true } });

  function size(length) {
    if (typeof length !== 'number') throw badArgument('size', 'of type number', length);
    if (!(length >= 0 && length <= 4294967296)) throw outOfRange('size', '>= 0 && <= 4294967296', length);
  }
  Buffer.from = function (value, second, third) {
    if (typeof value === 'string') return own(encoded(value, second));
    if (value instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer)) return own(new Uint8Array(value, second, third));
    if (value === null || value === undefined || typeof value === 'function' || (typeof value !== 'object')) {
      const what = 'The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object.';
      throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', what + described(value));
    }
    if (value.type === 'Buffer' && Array.isArray(value.data)) return own(Uint8Array.from(value.data));
    if (ArrayBuffer.isView(value)) return own(new Uint8Array(value));
    const plain = value.valueOf && value.valueOf();
    if (plain !== undefined && plain !== null && plain !== value && typeof plain !== 'number') return Buffer.from(plain, second, third);
    return own(Uint8Array.from(Array.from(value, Number)));
  };
  Buffer.of = (...values) => own(Uint8Array.from(values));
  Buffer.alloc = (length, fill, encoding) => { size(length); const made = own(new Uint8Array(length)); if (fill !== undefined && fill !== 0) made.fill(fill, encoding); return made; };
  Buffer.allocUnsafe = Buffer.allocUnsafeSlow = (length) => { size(length); return own(new Uint8Array(length)); };
  Buffer.isBuffer = (value) => value instanceof Buffer;
  Buffer.isEncoding = (encoding) => typeof encoding === 'string' && encoding !== '' && named(encoding) !== undefined;
  Buffer.byteLength = (value, encoding) => {
    if (typeof value !== 'string') return value.byteLength;
    const name = named(encoding) || 'utf8';
    // Of the text as it is, whether or not it can be read.
    if (name === 'hex') return value.length >>> 1;
    if (name.startsWith('base64')) return ((value.length - (/=*$/.exec(value)[0].length > 2 ? 2 : /=*$/.exec(value)[0].length)) * 3) >>> 2;
    return encoded(value, name).length;
  };
  Buffer.concat = (list, length) => {
    if (!Array.isArray(list)) throw badArgument('list', 'an instance of Array', list);
    if (length === undefined) { length = 0; for (const one of list) length += one.length; }
    const all = Buffer.alloc(length);
    let at = 0;
    for (const one of list) {
      if (!(one instanceof Uint8Array)) throw badArgument('list[0]', 'an instance of Buffer or Uint8Array', one);
      const part = at + one.length > length ? one.subarray(0, length - at) : one;
      all.set(part, at); at += part.length;
      if (at >= length) break;
    }
    return all;
  };
  Buffer.compare = (one, other) => {
    const length = Math.min(one.length, other.length);
    for (let at = 0; at < length; at++) if (one[at] !== other[at]) return one[at] < other[at] ? -1 : 1;
    return Math.sign(one.length - other.length);
  };
  Buffer.poolSize = 8192;

  const clamp = (value, length, otherwise) => {
    if (value === undefined) return otherwise;
    value = Math.trunc(Number(value)) || 0;
    return value < 0 ? Math.max(length + value, 0) : Math.min(value, length);
  };
  const methods = {
    toString(encoding, start, end) {
      if (start === undefined && end === undefined) return decoded(this, encoding);
      const from = Math.max(Math.trunc(Number(start)) || 0, 0), to = end === undefined ? this.length : Math.trunc(Number(end)) || 0;
      return to <= from ? '' : decoded(this.subarray(from, to), encoding);
    },
    toLocaleString(encoding, start, end) { return this.toString(encoding, start, end); },
    toJSON() { return { type: 'Buffer', data: Array.from(this) }; },
    equals(other) { if (!(other instanceof Uint8Array)) throw badArgument('otherBuffer', 'an instance of Buffer or Uint8Array', other); return Buffer.compare(this, other) === 0; },
    compare(other, start = 0, end = other.length, own_ = 0, ownEnd = this.length) { return Buffer.compare(this.subarray(own_, ownEnd), other.subarray(start, end)); },
    copy(target, at = 0, start = 0, end = this.length) {
      const part = Uint8Array.prototype.subarray.call(this, start, Math.min(end, start + target.length - at));
      if (part.length === 0 || at >= target.length) return 0;
      target.set(part, at);
      return part.length;
    },
    slice(start, end) { return this.subarray(start, end); },
    subarray(start, end) {
      const from = clamp(start, this.length, 0), to = clamp(end, this.length, this.length);
      return own(new Uint8Array(this.buffer, this.byteOffset + from, Math.max(to - from, 0)));
    },
    write(text, at, length, encoding) {
      if (typeof text !== 'string') throw badArgument('argument', 'of type string', text);
      if (typeof at === 'string') { encoding = at; at = undefined; length = undefined; }
      else if (typeof length === 'string') { encoding = length; length = undefined; }
      at = at === undefined ? 0 : at;
      let bytes = encoded(text, encoding);
      let room = Math.min(this.length - at, length === undefined ? Infinity : length);
      if (bytes.length > room) {
        // No character is written in part.
        if (named(encoding) === 'utf8') while (room > 0 && (bytes[room] & 0xc0) === 0x80) room--;
        bytes = bytes.subarray(0, Math.max(room, 0));
      }
      this.set(bytes, at);
      return bytes.length;
    },
    fill(value, start, end, encoding) {
      if (typeof start === 'string') { encoding = start; start = undefined; } else if (typeof end === 'string') { encoding = end; end = undefined; }
      const from = start === undefined ? 0 : start, to = end === undefined ? this.length : end;
      if (typeof value === 'number' || typeof value === 'boolean') { Uint8Array.prototype.fill.call(this, value, from, to); return this; }
      const bytes = typeof value === 'string' ? encoded(value, encoding) : value;
      if (bytes.length === 0) { Uint8Array.prototype.fill.call(this, 0, from, to); return this; }
      for (let at = from; at < to; at++) this[at] = bytes[(at - from) % bytes.length];
      return this;
    },
    indexOf(value, from, encoding) { return find(this, value, from, encoding, 1); },
    lastIndexOf(value, from, encoding) { return find(this, value, from, encoding, -1); },
    includes(value, from, encoding) { return this.indexOf(value, from, encoding) !== -1; },
    swap16() { return swapped(this, 2); },
    swap32() { return swapped(this, 4); },
    swap64() { return swapped(this, 8); },
    readUIntBE(at, count) { let value = 0; bounds(this, at, count); for (let index = 0; index < count; index++) value = value * 256 + this[at + index]; return value; },
    readUIntLE(at, count) { let value = 0; bounds(this, at, count); for (let index = count - 1; index >= 0; index--) value = value * 256 + this[at + index]; return value; },
    readIntBE(at, count) { return signed(this.readUIntBE(at, count), count); },
    readIntLE(at, count) { return signed(this.readUIntLE(at, count), count); },
    writeUIntBE(value, at, count) { bounds(this, at, count); for (let index = count - 1; index >= 0; index--) { this[at + index] = value % 256; value = Math.floor(value / 256); } return at + count; },
    writeUIntLE(value, at, count) { bounds(this, at, count); for (let index = 0; index < count; index++) { this[at + index] = value % 256; value = Math.floor(value / 256); } return at + count; },
    writeIntBE(value, at, count) { return this.writeUIntBE(value < 0 ? value + 2 ** (8 * count) : value, at, count); },
    writeIntLE(value, at, count) { return this.writeUIntLE(value < 0 ? value + 2 ** (8 * count) : value, at, count); },
  };
  const signed = (value, count) => (value >= 2 ** (8 * count - 1) ? value - 2 ** (8 * count) : value);
  function bounds(buffer, at, count) {
    if (typeof at !== 'number') throw badArgument('offset', 'of type number', at);
    if (!Number.isInteger(at)) throw outOfRange('offset', 'an integer', at);
    if (at < 0 || at + count > buffer.length) {
      if (buffer.length < count) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds');
      throw outOfRange('offset', `>= 0 and <= ${buffer.length - count}`, at);
    }
  }
  function swapped(buffer, count) {
    if (buffer.length % count !== 0) throw coded(RangeError, 'ERR_INVALID_BUFFER_SIZE', `Buffer size must be a multiple of ${count * 8}-bits`);
    for (let at = 0; at < buffer.length; at += count) buffer.subarray(at, at + count).reverse();
    return buffer;
  }
  function find(buffer, value, from, encoding, step) {
    if (typeof from === 'string') { encoding = from; from = undefined; }
    if (typeof value === 'number') return step > 0 ? Uint8Array.prototype.indexOf.call(buffer, value & 255, from) : Uint8Array.prototype.lastIndexOf.call(buffer, value & 255, from === undefined ? buffer.length - 1 : from);
    const bytes = typeof value === 'string' ? encoded(value, encoding) : value;
    if (!(bytes instanceof Uint8Array)) throw badArgument('value', 'one of type number or string or an instance of Buffer or Uint8Array', value);
    const last = buffer.length - bytes.length;
    let at = from === undefined || Number.isNaN(Number(from)) ? (step > 0 ? 0 : last) : Math.trunc(Number(from));
    if (at < 0) at += buffer.length;
    if (step > 0) at = Math.max(at, 0); else at = Math.min(at, last);
    for (; at >= 0 && at <= last; at += step) {
      let same = 0;
      while (same < bytes.length && buffer[at + same] === bytes[same]) same++;
      if (same === bytes.length) return at;
    }
    return -1;
  }
  const kinds = [['UInt8', 1, 'Uint8'], ['Int8', 1, 'Int8'], ['UInt16', 2, 'Uint16'], ['Int16', 2, 'Int16'], ['UInt32', 4, 'Uint32'], ['Int32', 4, 'Int32'],
    ['BigUInt64', 8, 'BigUint64'], ['BigInt64', 8, 'BigInt64'], ['Float', 4, 'Float32'], ['Double', 8, 'Float64']];
  for (const [name, count, kind] of kinds) {
    for (const end of count === 1 ? [''] : ['LE', 'BE']) {
      methods[`read${name}${end}`] = function (at = 0) { bounds(this, at, count); return new DataView(this.buffer, this.byteOffset)[`get${kind}`](at, end === 'LE'); };
      methods[`write${name}${end}`] = function (value, at = 0) {
        bounds(this, at, count);
        if (name.includes('Int') && typeof value === 'number') {
          const least = name.startsWith('U') ? 0 : -(2 ** (8 * count - 1)), most = 2 ** (8 * count - (name.startsWith('U') ? 0 : 1)) - 1;
          if (value < least || value > most) throw outOfRange('value', `>= ${least} and <= ${most}`, value);
        }
        new DataView(this.buffer, this.byteOffset)[`set${kind}`](at, value, end === 'LE');
        return at + count;
      };
    }
  }
  for (const [name, method] of Object.entries(methods)) {
    for (const alias of [name, name.replace('UInt', 'Uint')]) {
      Object.defineProperty(Buffer.prototype, alias, { value: method, writable: true, configurable: true, enumerable: false });
    }
  }
  Object.defineProperty(Buffer.prototype, 'parent', { get() { return this.buffer; }, configurable: true });

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return utf8(String(text)); }
    encodeInto(text, into) {
      let read = 0, written = 0;
      for (const char of String(text)) {
        const bytes = utf8(char);
        if (written + bytes.length > into.length) break;
        into.set(bytes, written); written += bytes.length; read += char.length;
      }
      return { read, written };
    }
  }
  class TextDecoder {
    #encoding; #fatal; #keepMark; #held = [];
    constructor(encoding = 'utf-8', options = {}) {
      const names = { 'utf8': 'utf-8', 'utf-8': 'utf-8', 'unicode-1-1-utf-8': 'utf-8', 'utf-16le': 'utf-16le', 'utf-16': 'utf-16le', 'ucs-2': 'utf-16le', 'latin1': 'windows-1252', 'ascii': 'windows-1252', 'iso-8859-1': 'windows-1252', 'windows-1252': 'windows-1252' };
      this.#encoding = names[String(encoding).trim().toLowerCase()];
      if (this.#encoding === undefined) throw coded(RangeError, 'ERR_ENCODING_NOT_SUPPORTED', `The "${encoding}" encoding is not supported`);
      this.#fatal = Boolean(options && options.fatal); this.#keepMark = Boolean(options && options.ignoreBOM);
    }
    get encoding() { return this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#keepMark; }
    decode(input = new Uint8Array(0), options = {}) {
      let bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
      if (this.#held.length > 0) { bytes = Uint8Array.from([...this.#held, ...bytes]); this.#held = []; }
      if (this.#encoding === 'utf-16le') return decoded(bytes, 'utf16le').replace(/^\ufeff/, '');
      if (this.#encoding === 'windows-1252') return binary(bytes);
      if (options && options.stream) {
        const cut = incomplete(bytes);
        this.#held = Array.from(bytes.subarray(bytes.length - cut));
        bytes = bytes.subarray(0, bytes.length - cut);
      }
      if (this.#fatal && !native.isValid(binary(bytes))) throw coded(TypeError, 'ERR_ENCODING_INVALID_ENCODED_DATA', `The encoded data was not valid for encoding ${this.#encoding}`);
      const text = fromUtf8(bytes);
      return this.#keepMark || text.charCodeAt(0) !== 0xfeff ? text : text.slice(1);
    }
  }
  // How many bytes at the end begin a character that goes on.
  function incomplete(bytes) {
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
      const byte = bytes[bytes.length - back];
      if ((byte & 0xc0) === 0x80) continue;
      const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
      return needs > back ? back : 0;
    }
    return 0;
  }

  class StringDecoder {
    constructor(encoding) { this.encoding = named(encoding) || 'utf8'; this._held = Buffer.alloc(0); }
    write(bytes) {
      if (typeof bytes === 'string') return bytes;
      const all = Buffer.concat([this._held, bytes]);
      let cut = 0;
      if (this.encoding === 'utf8') cut = incomplete(all);
      else if (this.encoding === 'utf16le') cut = all.length % 2;
      else if (this.encoding.startsWith('base64')) cut = all.length % 3;
      this._held = Buffer.from(all.subarray(all.length - cut));
      return all.toString(this.encoding, 0, all.length - cut);
    }
    end(bytes) {
      const text = bytes === undefined ? '' : this.write(bytes);
      const rest = this._held.length > 0 ? this._held.toString(this.encoding) : '';
      this._held = Buffer.alloc(0);
      return text + rest;
    }
  }

  const constants = { MAX_LENGTH: 4294967296, MAX_STRING_LENGTH: 536870888 };
  const atob = (text) => {
    text = String(text).replace(/[\t\n\f\r ]/g, '');
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replace(/=+$/, '').length % 4 === 1) throw new internal.globals.DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
    return binary(fromBase64(text));
  };
  const btoa = (text) => {
    for (const char of (text = String(text))) if (char.codePointAt(0) > 255) throw new internal.globals.DOMException('Invalid character', 'InvalidCharacterError');
    return toBase64(ofBinary(text), BASE64, true);
  };
  Object.assign(internal, { Buffer, binary, utf8, wellFormed, say, fromUtf8, encoded, decoded, namedEncoding: named });
  internal.builtins.set('buffer', { Buffer, SlowBuffer: Buffer, constants, kMaxLength: constants.MAX_LENGTH, kStringMaxLength: constants.MAX_STRING_LENGTH, atob, btoa, INSPECT_MAX_BYTES: 50, isUtf8: (bytes) => Boolean(native.isValid(binary(bytes))), isAscii: (bytes) => bytes.every((byte) => byte < 128) });
  internal.builtins.set('string_decoder', { StringDecoder });
  Object.assign(internal.globals, { Buffer, TextEncoder, TextDecoder, atob, btoa });
})
