// Timers, immediates and ticks, and the turns of the loop that runs them.
(function (native, internal) {
  'use strict';
  const { badArgument, coded } = internal.errors;
  const now = () => { const [seconds, nanoseconds] = native.monotonic(); return seconds * 1000 + nanoseconds / 1e6; };
  let lastId = 0, timers = [], immediates = [], ticks = [], pending = [];
  const byId = new Map();

  function check(callback) { if (typeof callback !== 'function') throw badArgument('callback', 'of type function', callback); }

  class Timeout {
    constructor(callback, delay, repeat, rest) {
      delay = Number(delay);
      if (!(delay >= 1 && delay <= 2147483647)) delay = 1;
      this._callback = callback; this._delay = Math.trunc(delay); this._repeat = repeat; this._rest = rest;
      this._id = ++lastId; this._kept = true; this._alive = false;
      start(this);
    }
    ref() { this._kept = true; return this; }
    unref() { this._kept = false; return this; }
    hasRef() { return this._kept; }
    refresh() { stop(this); start(this); return this; }
    close() { stop(this); return this; }
    [Symbol.toPrimitive]() { return this._id; }
    [Symbol.dispose || Symbol.for('dispose')]() { stop(this); }
  }
  function start(timer) {
    timer._at = now() + timer._delay; timer._order = ++lastId; timer._alive = true;
    byId.set(timer._id, timer);
    // Sorted by when it is due, then by when it was set.
    let low = 0, high = timers.length;
    while (low < high) { const middle = (low + high) >> 1; if (timers[middle]._at <= timer._at) low = middle + 1; else high = middle; }
    timers.splice(low, 0, timer);
  }
  function stop(timer) {
    if (!timer._alive) return;
    timer._alive = false;
    byId.delete(timer._id);
    const at = timers.indexOf(timer);
    if (at >= 0) timers.splice(at, 1);
  }
  function clear(timer) {
    if (timer instanceof Timeout) stop(timer);
    else if (timer instanceof Immediate) timer._alive = false;
    else if (byId.has(Number(timer))) stop(byId.get(Number(timer)));
  }
  class Immediate {
    constructor(callback, rest) { this._callback = callback; this._rest = rest; this._alive = true; this._kept = true; immediates.push(this); }
    ref() { this._kept = true; return this; }
    unref() { this._kept = false; return this; }
    hasRef() { return this._kept; }
  }

  function setTimeout(callback, delay, ...rest) { check(callback); return new Timeout(callback, delay, false, rest); }
  function setInterval(callback, delay, ...rest) { check(callback); return new Timeout(callback, delay, true, rest); }
  function setImmediate(callback, ...rest) { check(callback); return new Immediate(callback, rest); }
  function nextTick(callback, ...rest) { check(callback); ticks.push([callback, rest]); }

  // One turn: what came of operations, timers that are due, immediates. How many milliseconds to wait before the next one;
  // a negative number when nothing is left.
  const queue = [];
  function turn() {
    if (queue.length === 0) {
      if (internal.jobs.count() > 0) { const done = native.takeJob(0); if (done !== 0) internal.jobs.finish(done); }
      const time = now();
      while (timers.length > 0 && timers[0]._at <= time) {
        const timer = timers.shift();
        queue.push(() => {
          if (!timer._alive) return;
          if (timer._repeat) start(timer); else { timer._alive = false; byId.delete(timer._id); }
          Reflect.apply(timer._callback, timer, timer._rest);
        });
      }
      const done = pending; pending = [];
      for (const one of done) queue.push(one);
      const now_ = immediates; immediates = [];
      for (const one of now_) queue.push(() => { if (one._alive) { one._alive = false; Reflect.apply(one._callback, undefined, one._rest); } });
    }
    if (queue.length > 0) { queue.shift()(); return 0; }
    const first = timers.find((timer) => timer._kept);
    if (internal.jobs.count() > 0) {
      // Whatever comes first: what came of one, or the time of a timer. Input is looked at in between.
      const most = timers.length > 0 ? Math.max(timers[0]._at - now(), 0) : -1, reads = internal.wantsInput();
      const done = native.takeJob(reads && !(most >= 0 && most < 10) ? 10 : most);
      if (done !== 0) internal.jobs.finish(done);
      else if (reads && native.waitForInput(0) === 1) internal.readInput();
      return 0;
    }
    if (internal.wantsInput()) {
      // Whatever comes first: input, or the time of a timer.
      const most = first === undefined ? -1 : Math.max(timers[0]._at - now(), 0);
      if (native.waitForInput(most) === 1) internal.readInput();
      return 0;
    }
    if (first === undefined) {
      return internal.leave && internal.leave() ? 0 : -1;
    }
    return Math.max(timers[0]._at - now(), 0.05);
  }

  function runTicks() {
    let any = false;
    while (ticks.length > 0) {
      any = true;
      const list = ticks; ticks = [];
      for (let at = 0; at < list.length; at++) {
        const [callback, rest] = list[at];
        try { Reflect.apply(callback, undefined, rest); }
        catch (error) { ticks = [...list.slice(at + 1), ...ticks]; throw error; }
      }
    }
    return any;
  }

  // What came of an operation is told in a later turn, as Node does it.
  function later(callback) { pending.push(callback); }

  const { promisify } = internal;
  const promises = {
    setTimeout: (delay, value) => new Promise((resolve) => { setTimeout(resolve, delay, value); }),
    setImmediate: (value) => new Promise((resolve) => { setImmediate(resolve, value); }),
    setInterval: async function* (delay, value) { for (;;) { await promises.setTimeout(delay); yield value; } },
    scheduler: { wait: (delay) => promises.setTimeout(delay), yield: () => promises.setImmediate() },
  };
  const custom = Symbol.for('nodejs.util.promisify.custom');
  Object.defineProperty(setTimeout, custom, { value: promises.setTimeout });
  Object.defineProperty(setImmediate, custom, { value: promises.setImmediate });

  Object.assign(internal, { nextTick, later, now, setImmediate, setTimeout });
  Object.assign(internal.hooks, { turn, ticks: runTicks });
  const timersModule = { setTimeout, setInterval, setImmediate, clearTimeout: clear, clearInterval: clear, clearImmediate: clear, promises };
  internal.builtins.set('timers', timersModule);
  internal.builtins.set('timers/promises', promises);
  Object.assign(internal.globals, {
    setTimeout, setInterval, setImmediate, clearTimeout: clear, clearInterval: clear, clearImmediate: clear,
    queueMicrotask(callback) { check(callback); Promise.resolve().then(callback); },
  });
})
