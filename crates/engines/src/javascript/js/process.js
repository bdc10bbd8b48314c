// `process`, `os`, `perf_hooks`, and how a program ends.
(function (native, internal) {
  'use strict';
  const { EventEmitter, Buffer, nextTick } = internal;
  const { checked, coded, badArgument, ofSystem } = internal.errors;
  const { Readable, Writable } = internal.stream;
  let began, uid, gid, pid, umask;

  const process = Object.create(EventEmitter.prototype);
  EventEmitter.call(process);
  Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });
  const values = {};
  const env = new Proxy(values, {
    set(target, key, value) { target[key] = String(value); return true; },
    defineProperty(target, key, own) { return Reflect.defineProperty(target, key, 'value' in own ? { ...own, value: String(own.value) } : own); },
  });

  let exitCode;
  function leave(status) {
    if (status !== undefined) process.exitCode = status;
    if (!process._exiting) { process._exiting = true; process.emit('exit', process.exitCode || 0); }
    native.exit(Number(process.exitCode) || 0);
    // What comes after is never run: the engine is asked at once whether it goes on.
    for (;;);
  }

  function stdio(fd) {
    const stream = new Writable({
      decodeStrings: false,
      write(chunk, encoding, callback) {
        const text = typeof chunk === 'string';
        const answer = text ? internal.say(fd, chunk) : native.write(fd, internal.binary(chunk), true, -1);
        callback(answer < 0 ? ofSystem(-answer, 'write') : null);
      },
    });
    // What is written is there when the call returns, as for a file or a terminal of Node.
    stream.write = function (chunk, encoding, callback) {
      if (typeof encoding === 'function') { callback = encoding; encoding = undefined; }
      if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) throw badArgument('chunk', 'of type string or an instance of Buffer or Uint8Array', chunk);
      if (typeof chunk === 'string' && encoding && encoding !== 'utf8' && encoding !== 'utf-8') chunk = Buffer.from(chunk, encoding);
      const answer = typeof chunk === 'string' ? internal.say(fd, chunk) : native.write(fd, internal.binary(chunk), true, -1);
      if (callback) nextTick(callback, answer < 0 ? ofSystem(-answer, 'write') : null);
      return true;
    };
    stream.fd = fd; stream._isStdio = true; stream.isTTY = native.isTerminal(fd) === 1 || undefined;
    if (stream.isTTY) { stream.columns = 80; stream.rows = 24; stream.getColorDepth = () => 4; stream.hasColors = () => true; stream.getWindowSize = () => [80, 24]; }
    stream.destroy = function () { return this; };
    return stream;
  }
  let input;
  function stdin() {
    if (input) return input;
    input = new Readable({
      read() { wanted = true; },
    });
    input.fd = 0; input.isTTY = native.isTerminal(0) === 1 || undefined;
    input.setRawMode = function () { return this; };
    input.ref = input.unref = function () { return this; };
    return input;
  }
  let wanted = false;
  // Reading waits; so it is done when there is nothing else to do.
  internal.wantsInput = () => Boolean(wanted && input && !input._r.ended && (input._r.flowing !== false || input._r.wants));
  internal.readInput = () => {
    wanted = false;
    const bytes = checked(native.read(0, 65536, -1), 'read');
    input.push(bytes.byteLength === 0 ? null : Buffer.from(bytes));
  };

  const hrtime = (since) => {
    let [seconds, nanoseconds] = native.monotonic();
    if (since !== undefined) { seconds -= since[0]; nanoseconds -= since[1]; if (nanoseconds < 0) { seconds--; nanoseconds += 1e9; } }
    return [seconds, nanoseconds];
  };
  hrtime.bigint = () => { const [seconds, nanoseconds] = native.monotonic(); return BigInt(seconds) * 1000000000n + BigInt(nanoseconds); };

  const exact = {
    title: 'stockade-guest', version: 'v20.0.0', pid: 0, ppid: 0, platform: 'linux', arch: native.processor() === 'aarch64' ? 'arm64' : 'x64', execPath: '/usr/bin/node', execArgv: [], exitCode: undefined, debugPort: 0,
    versions: { node: '20.0.0', quickjs: '1' }, release: { name: 'node' }, features: {}, config: { variables: {} }, env, argv: [], argv0: 'node', allowedNodeEnvironmentFlags: new Set(), report: {},
    nextTick, hrtime, exit: leave, reallyExit: leave,
    abort() { leave(134); },
    cwd: () => native.workingDirectory(),
    chdir(path) {
      if (typeof path !== 'string') throw badArgument('directory', 'of type string', path);
      const full = internal.fs.realpathSync(path);
      if (!internal.fs.statSync(full).isDirectory()) throw ofSystem(20, 'chdir', native.workingDirectory(), path);
      native.changeDirectory(full);
    },
    uptime: () => (internal.now() - began) / 1000,
    umask: () => umask, getuid: () => uid, geteuid: () => uid, getgid: () => gid, getegid: () => gid, getgroups: () => [gid],
    cpuUsage(since) { const [seconds, nanoseconds] = native.cpu(); const user = seconds * 1e6 + Math.floor(nanoseconds / 1000); return { user: user - (since ? since.user : 0), system: 0 }; },
    memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => 0 }),
    resourceUsage: () => ({}), emitWarning(warning, type, code) { internal.warn(warning, typeof type === 'object' && type !== null ? type.type : type, typeof type === 'object' && type !== null ? type.code : code); },
    kill() { throw ofSystem(1, 'kill'); }, binding() { throw coded(Error, 'ERR_INVALID_MODULE', 'No such binding'); },
    setUncaughtExceptionCaptureCallback() {}, hasUncaughtExceptionCaptureCallback: () => false,
  };
  for (const [name, value] of Object.entries(exact)) if (name !== 'exitCode') process[name] = value;
  Object.defineProperty(process, 'exitCode', { get: () => exitCode, set(value) { exitCode = value; native.setStatus(Number(value) || 0); }, enumerable: true, configurable: true });
  for (const [name, make] of [['stdout', () => stdio(1)], ['stderr', () => stdio(2)], ['stdin', stdin]]) {
    let made;
    Object.defineProperty(process, name, { get: () => made || (made = make()), enumerable: true, configurable: true });
  }
  internal.warn = (warning, type = 'Warning', code) => {
    const text = warning instanceof Error ? `${warning.name}: ${warning.message}` : `${type}: ${warning}`;
    nextTick(() => internal.say(2, `(node:${pid}) ${code ? `[${code}] ` : ''}${text}\n`));
  };

  // Whether the program goes on after an error that nobody caught.
  internal.hooks.uncaught = (error, isPromise) => {
    if (isPromise && process.listenerCount('unhandledRejection') > 0) { process.emit('unhandledRejection', error, Promise.resolve()); return true; }
    if (process.listenerCount('uncaughtException') > 0) { process.emit('uncaughtException', error, isPromise ? 'unhandledRejection' : 'uncaughtException'); return true; }
    let text;
    if (isPromise && !(error instanceof Error)) {
      text = `node:internal/process/promises\n\n[UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "${internal.inspect(error)}".] {\n  code: 'ERR_UNHANDLED_REJECTION'\n}`;
    } else text = error instanceof Error ? internal.inspect(error) : `Uncaught ${internal.inspect(error)}`;
    internal.say(2, `${text}\n`);
    process.exitCode = 1;
    if (!process._exiting) { process._exiting = true; try { process.emit('exit', 1); } catch { /* it ends anyhow */ } }
    return false;
  };
  let left = false;
  // Nothing is left to do: whether listeners found something after all.
  internal.leave = () => {
    if (!process._exiting && process.listenerCount('beforeExit') > 0 && !left) { left = true; process.emit('beforeExit', process.exitCode || 0); return true; }
    if (!process._exiting) { process._exiting = true; process.emit('exit', process.exitCode || 0); return false; }
    return false;
  };

  internal.process = process;
  internal.builtins.set('process', process);
  internal.globals.process = process;

  const constants = { signals: { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGTERM: 15 }, errno: {}, priority: {} };
  for (const [number, [name]] of Object.entries(internal.errors.messages)) constants.errno[name] = Number(number);
  internal.builtins.set('os', {
    EOL: '\n', devNull: '/dev/null', constants, arch: () => process.arch, platform: () => 'linux', type: () => 'Linux', release: () => '0', version: () => '', machine: () => native.processor(),
    hostname: () => values.HOSTNAME || 'localhost', homedir: () => values.HOME || '/', tmpdir: () => (values.TMPDIR || values.TMP || values.TEMP || '/tmp').replace(/(.)\/$/, '$1'), endianness: () => 'LE',
    uptime: () => internal.now() / 1000, loadavg: () => [0, 0, 0], totalmem: () => 0, freemem: () => 0, cpus: () => [], availableParallelism: () => 1, networkInterfaces: () => ({}),
    userInfo: () => ({ uid, gid, username: values.USER || String(uid), homedir: values.HOME || '/', shell: values.SHELL || null }), getPriority: () => 0,
  });
  const performance = { now: () => internal.now() - began, timeOrigin: 0, mark() {}, measure() {}, toJSON: () => ({}) };
  internal.builtins.set('perf_hooks', { performance, PerformanceObserver: class { observe() {} disconnect() {} } });
  internal.globals.performance = performance;
  // What is a program's own, and known only when there is one.
  internal.hooks.start = () => {
    began = internal.now();
    performance.timeOrigin = native.now();
    [uid, gid, pid, umask] = native.user();
    process.pid = pid;
    const environment = native.environment();
    for (let at = 0; at < environment.length; at += 2) values[environment[at]] = environment[at + 1];
  };
  // `Math.random` of a copy of an engine, which would give what those of the other copies give: xorshift, from a seed of its own.
  internal.hooks.startAnew = () => {
    const state = new Uint32Array(native.random(16));
    const next = () => {
      const first = state[0] ^ (state[0] << 11), last = state[3];
      state[0] = state[1]; state[1] = state[2]; state[2] = last;
      return (state[3] = last ^ (last >>> 19) ^ first ^ (first >>> 8));
    };
    Object.defineProperty(Math, 'random', { value: () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992, writable: true, configurable: true });
  };
  class AsyncLocalStorage { run(store, callback, ...rest) { const before = this._store; this._store = store; try { return callback(...rest); } finally { this._store = before; } } getStore() { return this._store; } exit(callback, ...rest) { return this.run(undefined, callback, ...rest); } enterWith(store) { this._store = store; } disable() { this._store = undefined; } }
  class AsyncResource { constructor(type) { this.type = type; } runInAsyncScope(callback, self, ...rest) { return Reflect.apply(callback, self, rest); } emitDestroy() { return this; } static bind(callback) { return callback; } }
  internal.builtins.set('async_hooks', { AsyncLocalStorage, AsyncResource, createHook: () => ({ enable() { return this; }, disable() { return this; } }), executionAsyncId: () => 0 });
  internal.builtins.set('tty', { isatty: (fd) => native.isTerminal(fd) === 1, ReadStream: Readable, WriteStream: Writable });
  internal.builtins.set('diagnostics_channel', { channel: () => ({ hasSubscribers: false, publish() {}, subscribe() {} }), hasSubscribers: () => false });
})
