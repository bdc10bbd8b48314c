// `stream`: what common packages use of it. Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished.
(function (native, internal) {
  'use strict';
  const { EventEmitter, Buffer, nextTick } = internal;
  const { coded, badArgument } = internal.errors;

  function Stream(options) { EventEmitter.call(this, options); }
  Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
  Object.setPrototypeOf(Stream, EventEmitter);
  Stream.prototype.pipe = function (target, options = {}) {
    const write = (chunk) => { if (target.write(chunk) === false && this.pause) { this.pause(); target.once('drain', () => this.resume()); } };
    this.on('data', write);
    if (options.end !== false && !target._isStdio) this.once('end', () => target.end());
    target.emit('pipe', this);
    return target;
  };

  const destroyable = {
    destroy(error, callback) {
      if (this.destroyed) return this;
      this.destroyed = true;
      this.errored = error || null;
      this._destroy(error || null, (second) => {
        const failure = second || error;
        nextTick(() => { if (failure) this.emit('error', failure); this.closed = true; this.emit('close'); if (callback) callback(failure); });
      });
      return this;
    },
    _destroy(error, callback) { callback(error); },
  };

  function Readable(options) {
    if (!(this instanceof Readable)) return new Readable(options);
    Stream.call(this, options);
    setUpReadable(this, options || {});
  }
  function setUpReadable(stream, options) {
    const objects = Boolean(options.objectMode || options.readableObjectMode);
    stream._r = { queue: [], flowing: null, ended: false, finished: false, reading: false, objects, decoder: null, mark: options.highWaterMark || (objects ? 16 : 65536), scheduled: false, length: 0 };
    stream.readable = true; stream.destroyed = false; stream.closed = false; stream.errored = null; stream.readableEnded = false;
    if (options.encoding) stream.setEncoding(options.encoding);
    if (typeof options.read === 'function') stream._read = options.read;
    if (typeof options.destroy === 'function') stream._destroy = options.destroy;
    if (options.signal) options.signal.addEventListener('abort', () => stream.destroy(options.signal.reason));
  }
  Object.setPrototypeOf(Readable.prototype, Stream.prototype);
  Object.setPrototypeOf(Readable, Stream);
  const sizeOf = (state, chunk) => (state.objects ? 1 : chunk.length);
  const readable = {
    ...destroyable,
    _read() { throw coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _read() method is not implemented'); },
    push(chunk, encoding) {
      const state = this._r;
      state.reading = false;
      if (chunk === null) { if (state.decoder) { const rest = state.decoder.end(); if (rest) { state.queue.push(rest); state.length += sizeOf(state, rest); } } state.ended = true; schedule(this); return false; }
      if (!state.objects) {
        if (typeof chunk === 'string') chunk = state.decoder && (!encoding || encoding === state.decoder.encoding) ? chunk : Buffer.from(chunk, encoding);
        else if (chunk instanceof Uint8Array && !(chunk instanceof Buffer)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        else if (!(chunk instanceof Uint8Array)) { this.destroy(badArgument('chunk', 'of type string or an instance of Buffer or Uint8Array', chunk)); return false; }
        if (state.decoder && typeof chunk !== 'string') chunk = state.decoder.write(chunk);
        if (chunk.length === 0) { schedule(this); return true; }
      }
      state.queue.push(chunk); state.length += sizeOf(state, chunk);
      schedule(this);
      return state.length < state.mark;
    },
    unshift(chunk) { this._r.queue.unshift(chunk); this._r.length += sizeOf(this._r, chunk); schedule(this); },
    setEncoding(encoding) { this._r.decoder = new (internal.builtins.get('string_decoder').StringDecoder)(encoding); return this; },
    read(count) {
      const state = this._r;
      if (state.queue.length === 0) { if (!state.ended) fill(this); else end(this); return null; }
      let chunk;
      if (state.objects) chunk = state.queue.shift();
      else {
        const all = state.queue.length === 1 ? state.queue[0] : typeof state.queue[0] === 'string' ? state.queue.join('') : Buffer.concat(state.queue);
        if (count === undefined || count >= all.length) { if (count > all.length && !state.ended) { fill(this); return null; } chunk = all; state.queue = []; }
        else { chunk = all.slice(0, count); state.queue = [all.slice(count)]; }
      }
      state.length -= sizeOf(state, chunk);
      if (!state.ended) fill(this); else if (state.queue.length === 0) schedule(this);
      if (state.flowing !== true) this.emit('data', chunk);
      return chunk;
    },
    pause() { this._r.flowing = false; this.emit('pause'); return this; },
    resume() { if (this._r.flowing !== true) { this._r.flowing = true; this.emit('resume'); schedule(this); } return this; },
    isPaused() { return this._r.flowing === false; },
    on(type, listener) {
      EventEmitter.prototype.on.call(this, type, listener);
      if (type === 'data' && this._r.flowing !== false) this.resume();
      if (type === 'readable') { this._r.flowing = false; this._r.wants = true; schedule(this); }
      return this;
    },
    unpipe() { this.removeAllListeners('data'); return this; },
    wrap(old) { old.on('data', (chunk) => { if (!this.push(chunk)) old.pause(); }); old.on('end', () => this.push(null)); this._read = () => old.resume(); return this; },
    async *[Symbol.asyncIterator]() {
      const chunks = []; let wake = null, over = false, failure = null;
      this.on('data', (chunk) => { chunks.push(chunk); this.pause(); if (wake) wake(); });
      this.on('end', () => { over = true; if (wake) wake(); });
      this.on('error', (error) => { failure = error; over = true; if (wake) wake(); });
      this.on('close', () => { over = true; if (wake) wake(); });
      try {
        for (;;) {
          if (chunks.length > 0) { yield chunks.shift(); continue; }
          if (failure) throw failure;
          if (over) return;
          await new Promise((resolve) => { wake = resolve; this.resume(); });
          wake = null;
        }
      } finally { this.destroy(); }
    },
    async toArray() { const all = []; for await (const one of this) all.push(one); return all; },
    async forEach(callback) { for await (const one of this) await callback(one); },
    map(callback) { const source = this; return Readable.from((async function* () { for await (const one of source) yield callback(one); })()); },
    filter(callback) { const source = this; return Readable.from((async function* () { for await (const one of source) if (await callback(one)) yield one; })()); },
  };
  readable.addListener = readable.on;
  function fill(stream) {
    const state = stream._r;
    if (state.reading || state.ended || stream.destroyed || state.length >= state.mark) return;
    state.reading = true;
    try { stream._read(state.mark); } catch (error) { stream.destroy(error); }
  }
  function end(stream) {
    const state = stream._r;
    if (state.finished || stream.destroyed) return;
    state.finished = true;
    nextTick(() => {
      stream.readable = false; stream.readableEnded = true;
      stream.emit('end');
      if (!stream._w || stream._w.finished) stream.destroy();
    });
  }
  function schedule(stream) {
    const state = stream._r;
    if (state.scheduled) return;
    state.scheduled = true;
    nextTick(() => {
      state.scheduled = false;
      if (state.wants && (state.queue.length > 0 || state.ended) && !state.finished) stream.emit('readable');
      while (state.flowing === true && state.queue.length > 0 && !stream.destroyed) {
        const chunk = state.queue.shift();
        state.length -= sizeOf(state, chunk);
        stream.emit('data', chunk);
      }
      if (state.queue.length === 0 && state.ended && (state.flowing === true || state.wants)) end(stream);
      else if (state.flowing === true || state.wants) fill(stream);
    });
  }
  for (const name of Reflect.ownKeys(readable)) Object.defineProperty(Readable.prototype, name, { ...Object.getOwnPropertyDescriptor(readable, name), enumerable: false });
  Object.defineProperties(Readable.prototype, {
    readableFlowing: { get() { return this._r.flowing; } }, readableLength: { get() { return this._r.length; } },
    readableObjectMode: { get() { return this._r.objects; } }, readableHighWaterMark: { get() { return this._r.mark; } },
    readableEncoding: { get() { return this._r.decoder ? this._r.decoder.encoding : null; } },
  });
  Readable.from = (source, options) => {
    if (typeof source === 'string' || source instanceof Uint8Array) source = [source];
    const iterator = source[Symbol.asyncIterator] ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    return new Readable({
      objectMode: true, highWaterMark: 1, ...options,
      read() { Promise.resolve(iterator.next()).then(async ({ value, done }) => this.push(done ? null : await value)).catch((error) => this.destroy(error)); },
    });
  };

  function Writable(options) {
    if (!Reflect.apply(Function.prototype[Symbol.hasInstance], Writable, [this]) && !(this instanceof Duplex)) return new Writable(options);
    Stream.call(this, options);
    setUpWritable(this, options || {});
  }
  function setUpWritable(stream, options) {
    const objects = Boolean(options.objectMode || options.writableObjectMode);
    stream._w = { queue: [], busy: false, ending: false, finished: false, objects, mark: options.highWaterMark || (objects ? 16 : 16384), length: 0, drain: false, decode: options.decodeStrings !== false, encoding: 'utf8', corked: 0 };
    stream.writable = true; stream.destroyed = false; stream.closed = false; stream.writableEnded = false; stream.writableFinished = false;
    for (const name of ['write', 'writev', 'final', 'destroy']) if (typeof options[name] === 'function') stream[`_${name}`] = options[name];
  }
  Object.setPrototypeOf(Writable.prototype, Stream.prototype);
  Object.setPrototypeOf(Writable, Stream);
  const writable = {
    ...destroyable,
    _write(chunk, encoding, callback) { if (this._writev) this._writev([{ chunk, encoding }], callback); else throw coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _write() method is not implemented'); },
    write(chunk, encoding, callback) {
      if (typeof encoding === 'function') { callback = encoding; encoding = undefined; }
      const state = this._w;
      if (chunk === null) throw coded(TypeError, 'ERR_STREAM_NULL_VALUES', 'May not write null values to stream');
      if (state.ending || this.destroyed) {
        const error = state.ending ? coded(Error, 'ERR_STREAM_WRITE_AFTER_END', 'write after end') : coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed');
        nextTick(() => { if (callback) callback(error); });
        if (state.ending) this.destroy(error);
        return false;
      }
      encoding = encoding || state.encoding;
      if (!state.objects) {
        if (typeof chunk === 'string') { if (state.decode) { chunk = Buffer.from(chunk, encoding); encoding = 'buffer'; } }
        else if (chunk instanceof Uint8Array) { if (!(chunk instanceof Buffer)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength); encoding = 'buffer'; }
        else throw badArgument('chunk', 'of type string or an instance of Buffer or Uint8Array', chunk);
      }
      const size = state.objects ? 1 : chunk.length;
      state.length += size;
      state.queue.push({ chunk, encoding, callback, size });
      const goesOn = state.length < state.mark;
      if (!goesOn) state.drain = true;
      work(this);
      return goesOn;
    },
    end(chunk, encoding, callback) {
      if (typeof chunk === 'function') { callback = chunk; chunk = undefined; } else if (typeof encoding === 'function') { callback = encoding; encoding = undefined; }
      if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
      if (callback) { if (this._w.finished) nextTick(callback); else this.once('finish', callback); }
      this._w.ending = true; this._w.corked = 0; this.writableEnded = true; this.writable = false;
      work(this);
      return this;
    },
    cork() { this._w.corked++; }, uncork() { if (this._w.corked > 0) this._w.corked--; work(this); },
    setDefaultEncoding(encoding) { this._w.encoding = encoding; return this; },
  };
  function work(stream) {
    const state = stream._w;
    if (state.busy || state.corked > 0 || stream.destroyed) return;
    const next = state.queue.shift();
    if (next === undefined) {
      if (state.ending && !state.finished && !state.finishing) {
        state.finishing = true;
        const done = (error) => {
          if (error) { stream.destroy(error); return; }
          state.finished = true;
          nextTick(() => { stream.writableFinished = true; stream.emit('finish'); if (!stream._r || stream._r.finished) stream.destroy(); });
        };
        if (stream._final) { try { stream._final(done); } catch (error) { done(error); } } else done();
      }
      return;
    }
    state.busy = true;
    let isSync = true;
    const done = (error) => {
      state.busy = false; state.length -= next.size;
      const after = () => {
        if (next.callback) next.callback(error || null);
        if (error) { stream.destroy(error); return; }
        if (state.drain && state.length < state.mark && !state.ending) { state.drain = false; stream.emit('drain'); }
      };
      if (isSync) nextTick(after); else after();
      if (!error) { if (isSync) nextTick(() => work(stream)); else work(stream); }
    };
    try { stream._write(next.chunk, next.encoding, done); } catch (error) { stream.destroy(error); }
    isSync = false;
  }
  for (const [name, method] of Object.entries(Object.getOwnPropertyDescriptors(writable))) Object.defineProperty(Writable.prototype, name, { ...method, enumerable: false });
  Object.defineProperties(Writable.prototype, {
    writableLength: { get() { return this._w.length; } }, writableObjectMode: { get() { return this._w.objects; } },
    writableHighWaterMark: { get() { return this._w.mark; } }, writableNeedDrain: { get() { return this._w.drain; } }, writableCorked: { get() { return this._w.corked; } },
  });
  Object.defineProperty(Writable, Symbol.hasInstance, { value(one) { return this === Writable ? one !== null && typeof one === 'object' && one._w !== undefined : Function.prototype[Symbol.hasInstance].call(this, one); } });

  function Duplex(options) {
    if (!(this instanceof Duplex)) return new Duplex(options);
    Readable.call(this, options);
    setUpWritable(this, options || {});
    if (options && options.readable === false) { this._r.ended = this._r.finished = true; }
  }
  Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
  Object.setPrototypeOf(Duplex, Readable);
  for (const [name, method] of Object.entries(Object.getOwnPropertyDescriptors(Writable.prototype))) if (name !== 'constructor' && !(name in destroyable)) Object.defineProperty(Duplex.prototype, name, method);

  function Transform(options) {
    if (!(this instanceof Transform)) return new Transform(options);
    Duplex.call(this, options);
    if (options && typeof options.transform === 'function') this._transform = options.transform;
    if (options && typeof options.flush === 'function') this._flush = options.flush;
    this._held = null;
  }
  Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
  Object.setPrototypeOf(Transform, Duplex);
  Object.assign(Transform.prototype, {
    _transform() { throw coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _transform() method is not implemented'); },
    _write(chunk, encoding, callback) {
      this._transform(chunk, encoding, (error, value) => {
        if (error) { callback(error); return; }
        if (value !== null && value !== undefined) this.push(value);
        if (this._r.length < this._r.mark || this._r.flowing === true) callback(); else this._held = callback;
      });
    },
    _read() { const held = this._held; this._held = null; this._r.reading = false; if (held) held(); },
    _final(callback) {
      if (!this._flush) { this.push(null); callback(); return; }
      this._flush((error, value) => { if (error) { callback(error); return; } if (value !== null && value !== undefined) this.push(value); this.push(null); callback(); });
    },
  });
  function PassThrough(options) { if (!(this instanceof PassThrough)) return new PassThrough(options); Transform.call(this, options); }
  Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
  Object.setPrototypeOf(PassThrough, Transform);
  PassThrough.prototype._transform = function (chunk, encoding, callback) { callback(null, chunk); };

  function finished(stream, options, callback) {
    if (typeof options === 'function') callback = options;
    let told = false;
    const tell = (error) => { if (!told) { told = true; callback(error); } };
    const isDone = () => (!stream._r || stream._r.finished || stream.readable === false) && (!stream._w || stream._w.finished);
    stream.on('error', tell);
    stream.on('end', () => { if (isDone()) tell(); });
    stream.on('finish', () => { if (isDone()) tell(); });
    stream.on('close', () => tell(isDone() ? undefined : coded(Error, 'ERR_STREAM_PREMATURE_CLOSE', 'Premature close')));
    if (stream.destroyed) nextTick(() => tell(stream.errored || undefined));
    return () => { told = true; };
  }
  function pipeline(...streams) {
    const callback = typeof streams[streams.length - 1] === 'function' && streams.length > 1 ? streams.pop() : () => {};
    const all = streams.flat();
    if (all[0] && typeof all[0].pipe !== 'function') all[0] = Readable.from(typeof all[0] === 'function' ? all[0]() : all[0]);
    let told = false;
    const tell = (error) => { if (told) return; told = true; if (error) for (const one of all) one.destroy(error === undefined ? undefined : null); callback(error); };
    for (let at = 0; at < all.length; at++) {
      if (typeof all[at] === 'function') all[at] = Readable.from(all[at](all[at - 1])); else if (at > 0) all[at - 1].pipe(all[at]);
      all[at].on('error', tell);
    }
    finished(all[all.length - 1], {}, tell);
    return all[all.length - 1];
  }
  const promises = {
    pipeline: (...streams) => new Promise((resolve, reject) => { if (streams.length > 0 && streams[streams.length - 1] && !streams[streams.length - 1].pipe && streams[streams.length - 1].signal) streams.pop(); pipeline(...streams, (error) => (error ? reject(error) : resolve())); }),
    finished: (stream) => new Promise((resolve, reject) => { finished(stream, {}, (error) => (error ? reject(error) : resolve())); }),
  };
  Object.assign(Stream, { Stream, Readable, Writable, Duplex, Transform, PassThrough, finished, pipeline, promises });
  internal.stream = Stream;
  internal.builtins.set('stream', Stream);
  internal.builtins.set('stream/promises', promises);
})
