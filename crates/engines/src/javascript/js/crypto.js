// `crypto`: random values and hashes. Ciphers and keys are not here.
(function (native, internal) {
  'use strict';
  const { checked, coded, badArgument, outOfRange } = internal.errors;
  const { Buffer, binary } = internal;
  const ALGORITHMS = { sha1: 64, sha224: 64, sha256: 64, sha384: 128, sha512: 128 };
  const named = (name) => String(name).toLowerCase().replace(/^(rsa-)?sha-?/, 'sha');
  const bytesOf = (data, encoding) => {
    if (typeof data === 'string') return Buffer.from(data, encoding);
    if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    if (data instanceof ArrayBuffer) return Buffer.from(data);
    throw badArgument('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
  };
  const digest = (name, bytes) => Buffer.from(checked(native.hash(name, binary(bytes)), 'hash'));
  class Hash {
    #name; #parts = []; #done = false;
    constructor(name) { this.#name = named(name); if (!(this.#name in ALGORITHMS)) throw coded(Error, 'ERR_OSSL_EVP_UNSUPPORTED', `Digest method not supported: ${name}`); }
    update(data, encoding) { if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called'); this.#parts.push(Buffer.from(bytesOf(data, encoding))); return this; }
    digest(encoding) { if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called'); this.#done = true; const made = digest(this.#name, Buffer.concat(this.#parts)); return encoding && encoding !== 'buffer' ? made.toString(encoding) : made; }
    copy() { const made = new Hash(this.#name); made.#parts = [...this.#parts]; return made; }
  }
  class Hmac {
    #outer; #inner; #name;
    constructor(name, key) {
      this.#name = named(name);
      const size = ALGORITHMS[this.#name];
      if (size === undefined) throw coded(Error, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);
      let bytes = bytesOf(key);
      if (bytes.length > size) bytes = digest(this.#name, bytes);
      const padded = Buffer.alloc(size); padded.set(bytes);
      this.#inner = new Hash(this.#name).update(padded.map((byte) => byte ^ 0x36)); this.#outer = padded.map((byte) => byte ^ 0x5c);
    }
    update(data, encoding) { this.#inner.update(data, encoding); return this; }
    digest(encoding) { return new Hash(this.#name).update(this.#outer).update(this.#inner.digest()).digest(encoding); }
  }
  function randomBytes(count, callback) {
    if (typeof count !== 'number') throw badArgument('size', 'of type number', count);
    if (!(count >= 0 && count <= 16777216)) throw outOfRange('size', '>= 0 && <= 16777216', count);
    const made = Buffer.from(checked(native.random(count), 'random'));
    if (callback) { internal.later(() => callback(null, made)); return undefined; }
    return made;
  }
  function randomUUID() {
    const bytes = randomBytes(16);
    bytes[6] = (bytes[6] & 15) | 64; bytes[8] = (bytes[8] & 63) | 128;
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
  function randomInt(least, most, callback) {
    if (most === undefined || typeof most === 'function') { callback = most; most = least; least = 0; }
    const range = most - least;
    if (!(range > 0 && range <= 281474976710655)) throw outOfRange('max', `greater than the value of "min" (${least})`, most);
    const limit = 281474976710656 - (281474976710656 % range);
    let value;
    do value = randomBytes(6).readUIntBE(0, 6); while (value >= limit);
    const made = least + (value % range);
    if (callback) { internal.later(() => callback(null, made)); return undefined; }
    return made;
  }
  function getRandomValues(array) { const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength); if (bytes.length > 65536) throw new internal.globals.DOMException('The requested length exceeds 65,536 bytes', 'QuotaExceededError'); bytes.set(randomBytes(bytes.length)); return array; }
  const subtle = { digest: async (algorithm, data) => { const made = digest(named(typeof algorithm === 'string' ? algorithm : algorithm.name), bytesOf(data)); return made.buffer.slice(made.byteOffset, made.byteOffset + made.length); } };
  const webcrypto = { getRandomValues, randomUUID, subtle };
  internal.globals.crypto = webcrypto;
  internal.builtins.set('crypto', {
    createHash: (name) => new Hash(name), createHmac: (name, key) => new Hmac(name, key), Hash, Hmac, randomBytes, pseudoRandomBytes: randomBytes, randomUUID, randomInt, getRandomValues, webcrypto, subtle,
    randomFillSync(buffer, at = 0, size = buffer.byteLength - at) { new Uint8Array(buffer.buffer, buffer.byteOffset + at, size).set(randomBytes(size)); return buffer; },
    getHashes: () => Object.keys(ALGORITHMS), hash: (name, data, encoding = 'hex') => new Hash(name).update(data).digest(encoding),
    timingSafeEqual(one, other) { if (one.byteLength !== other.byteLength) throw coded(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length'); let different = 0; for (let at = 0; at < one.length; at++) different |= one[at] ^ other[at]; return different === 0; },
  });
})
