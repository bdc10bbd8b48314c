// `events`, and the web's `Event`, `EventTarget` and `AbortController`.
(function (native, internal) {
  'use strict';
  const { coded, badArgument } = internal.errors;

  function EventEmitter(options) { EventEmitter.init.call(this, options); }
  EventEmitter.prototype._events = undefined;
  EventEmitter.prototype._eventsCount = 0;
  EventEmitter.prototype._maxListeners = undefined;
  EventEmitter.defaultMaxListeners = 10;
  EventEmitter.init = function () {
    if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
      this._events = Object.create(null);
      this._eventsCount = 0;
    }
    this._maxListeners = this._maxListeners || undefined;
  };

  function check(listener) {
    if (typeof listener !== 'function') throw badArgument('listener', 'of type function', listener);
  }

  function add(emitter, type, listener, first) {
    check(listener);
    if (emitter._events === undefined) EventEmitter.init.call(emitter);
    const events = emitter._events;
    if (events.newListener !== undefined) emitter.emit('newListener', type, listener.listener || listener);
    const list = emitter._events[type];
    if (list === undefined) { emitter._events[type] = [listener]; emitter._eventsCount++; }
    else emitter._events[type] = first ? [listener, ...list] : [...list, listener];
    return emitter;
  }

  function once(emitter, type, listener) {
    check(listener);
    let fired = false;
    const wrapped = function (...rest) {
      if (fired) return undefined;
      fired = true;
      emitter.removeListener(type, wrapped);
      return Reflect.apply(listener, emitter, rest);
    };
    wrapped.listener = listener;
    return wrapped;
  }

  Object.assign(EventEmitter.prototype, {
    setMaxListeners(count) { this._maxListeners = count; return this; },
    getMaxListeners() { return this._maxListeners === undefined ? EventEmitter.defaultMaxListeners : this._maxListeners; },
    emit(type, ...rest) {
      const list = this._events === undefined ? undefined : this._events[type];
      if (list === undefined) {
        if (type !== 'error') return false;
        const error = rest[0];
        if (error instanceof Error) throw error;
        const unhandled = coded(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${internal.inspect ? internal.inspect(error) : error})`);
        unhandled.context = error;
        throw unhandled;
      }
      for (const listener of list) Reflect.apply(listener, this, rest);
      return true;
    },
    addListener(type, listener) { return add(this, type, listener, false); },
    prependListener(type, listener) { return add(this, type, listener, true); },
    once(type, listener) { return add(this, type, once(this, type, listener), false); },
    prependOnceListener(type, listener) { return add(this, type, once(this, type, listener), true); },
    removeListener(type, listener) {
      check(listener);
      const list = this._events === undefined ? undefined : this._events[type];
      if (list === undefined) return this;
      for (let at = list.length - 1; at >= 0; at--) {
        if (list[at] !== listener && list[at].listener !== listener) continue;
        if (list.length === 1) { delete this._events[type]; this._eventsCount--; }
        else this._events[type] = list.filter((_, index) => index !== at);
        if (this._events.removeListener !== undefined) this.emit('removeListener', type, listener);
        break;
      }
      return this;
    },
    removeAllListeners(type) {
      if (this._events === undefined) return this;
      if (type === undefined) { this._events = Object.create(null); this._eventsCount = 0; }
      else if (this._events[type] !== undefined) { delete this._events[type]; this._eventsCount--; }
      return this;
    },
    listeners(type) { return this.rawListeners(type).map((one) => one.listener || one); },
    rawListeners(type) { return this._events === undefined ? [] : [...(this._events[type] || [])]; },
    listenerCount(type) { return this._events === undefined ? 0 : (this._events[type] || []).length; },
    eventNames() { return this._events === undefined ? [] : Reflect.ownKeys(this._events); },
  });
  for (const [alias, name] of [['on', 'addListener'], ['off', 'removeListener']]) {
    EventEmitter.prototype[alias] = EventEmitter.prototype[name];
  }
  for (const name of Object.keys(EventEmitter.prototype)) {
    Object.defineProperty(EventEmitter.prototype, name, { enumerable: name.startsWith('_') });
  }

  EventEmitter.once = (emitter, type) => new Promise((resolve, reject) => {
    if (typeof emitter.addEventListener === 'function') {
      emitter.addEventListener(type, (event) => resolve([event]), { once: true });
      return;
    }
    const failed = (error) => { emitter.removeListener(type, done); reject(error); };
    const done = (...values) => { emitter.removeListener('error', failed); resolve(values); };
    emitter.once(type, done);
    if (type !== 'error') emitter.once('error', failed);
  });
  EventEmitter.on = (emitter, type) => {
    const waiting = [], ready = [];
    let failure;
    emitter.on(type, (...values) => { const one = waiting.shift(); if (one) one.resolve({ value: values, done: false }); else ready.push(values); });
    emitter.on('error', (error) => { const one = waiting.shift(); if (one) one.reject(error); else failure = error; });
    return {
      next() {
        if (ready.length > 0) return Promise.resolve({ value: ready.shift(), done: false });
        if (failure) return Promise.reject(failure);
        return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
      },
      return() { emitter.removeAllListeners(type); return Promise.resolve({ value: undefined, done: true }); },
      [Symbol.asyncIterator]() { return this; },
    };
  };
  EventEmitter.listenerCount = (emitter, type) => emitter.listenerCount(type);
  EventEmitter.EventEmitter = EventEmitter;
  EventEmitter.errorMonitor = Symbol('events.errorMonitor');
  EventEmitter.captureRejectionSymbol = Symbol.for('nodejs.rejection');
  EventEmitter.setMaxListeners = (count, ...emitters) => { for (const one of emitters) if (one.setMaxListeners) one.setMaxListeners(count); };

  class Event {
    #type; #options; #stopped = false; #prevented = false;
    constructor(type, options = {}) {
      this.#type = String(type);
      this.#options = options || {};
      this.target = null; this.currentTarget = null; this.timeStamp = 0;
    }
    get type() { return this.#type; }
    get cancelable() { return Boolean(this.#options.cancelable); }
    get bubbles() { return Boolean(this.#options.bubbles); }
    get defaultPrevented() { return this.#prevented; }
    preventDefault() { if (this.cancelable) this.#prevented = true; }
    stopPropagation() {}
    stopImmediatePropagation() { this.#stopped = true; }
    get isStopped() { return this.#stopped; }
  }
  class CustomEvent extends Event {
    constructor(type, options) { super(type, options); this.detail = options && options.detail !== undefined ? options.detail : null; }
  }
  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      if (!listener) return;
      const list = this.#listeners.get(type) || [];
      if (list.some((one) => one.listener === listener)) return;
      list.push({ listener, once: Boolean(options && options.once) });
      this.#listeners.set(type, list);
    }
    removeEventListener(type, listener) {
      this.#listeners.set(type, (this.#listeners.get(type) || []).filter((one) => one.listener !== listener));
    }
    dispatchEvent(event) {
      event.target = event.currentTarget = this;
      for (const one of [...(this.#listeners.get(event.type) || [])]) {
        if (one.once) this.removeEventListener(event.type, one.listener);
        if (typeof one.listener === 'function') one.listener.call(this, event); else one.listener.handleEvent(event);
        if (event.isStopped) break;
      }
      return !event.defaultPrevented;
    }
  }

  class AbortSignal extends EventTarget {
    aborted = false; reason = undefined; onabort = null;
    throwIfAborted() { if (this.aborted) throw this.reason; }
    static abort(reason) { const controller = new AbortController(); controller.abort(reason); return controller.signal; }
    static any(signals) {
      const controller = new AbortController();
      for (const signal of signals) { if (signal.aborted) { controller.abort(signal.reason); break; } signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true }); }
      return controller.signal;
    }
    static timeout(delay) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), delay).unref();
      return controller.signal;
    }
  }
  class AbortController {
    signal = new AbortSignal();
    abort(reason) {
      const signal = this.signal;
      if (signal.aborted) return;
      signal.aborted = true;
      signal.reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      const event = new Event('abort');
      if (typeof signal.onabort === 'function') signal.onabort(event);
      signal.dispatchEvent(event);
    }
  }
  class DOMException extends Error {
    constructor(message = '', name = 'Error') {
      super(message);
      Object.defineProperty(this, 'name', { value: name, configurable: true, enumerable: false });
      this.code = { AbortError: 20, TimeoutError: 23, DataCloneError: 25, InvalidCharacterError: 5 }[name] || 0;
    }
  }

  internal.EventEmitter = EventEmitter;
  internal.builtins.set('events', EventEmitter);
  internal.globals = { Event, CustomEvent, EventTarget, AbortSignal, AbortController, DOMException };
})
