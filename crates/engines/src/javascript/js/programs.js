// `child_process`: other programs of the same cage. Their input is whole before they begin, and what they write is there
// when they have ended.
(function (native, internal) {
  'use strict';
  const { EventEmitter, Buffer, binary, nextTick } = internal;
  const { badArgument, coded, ofSystem, messages } = internal.errors;
  const { Readable, Writable } = internal.stream;
  const SIGNALS = { 1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM', 31: 'SIGSYS' };

  // What came of jobs that were begun: requests as well.
  const waiting = new Map();
  internal.jobs = {
    begin(number, callback) { waiting.set(number, callback); },
    count: () => waiting.size,
    finish([number, error, answer]) { const callback = waiting.get(number); waiting.delete(number); if (callback) internal.later(() => callback(error, answer)); },
  };

  function streams(options, usual) {
    const given = options.stdio === undefined ? usual : options.stdio;
    const all = Array.isArray(given) ? given : [given, given, given];
    return [0, 1, 2].map((at) => { const one = all[at]; return one === 'inherit' || one === at || (one && one.fd === at) ? 'inherit' : one === 'ignore' ? 'ignore' : 'pipe'; });
  }
  function prepared(words, options, usual) {
    const env = options.env || internal.process.env, variables = [];
    for (const name of Object.keys(env)) if (env[name] !== undefined) variables.push(name, String(env[name]));
    const cwd = options.cwd === undefined ? native.workingDirectory() : options.cwd instanceof internal.URL ? internal.fileURLToPath(options.cwd) : String(options.cwd);
    const most = options.maxBuffer === undefined ? 1024 * 1024 : options.maxBuffer;
    return { words: words.map(String), cwd, variables, streams: streams(options, usual), bounds: [options.timeout || 0, most === Infinity ? 0 : most + 1], most };
  }
  function wordsOf(file, list, options) {
    if (typeof file !== 'string') throw badArgument('file', 'of type string', file);
    if (file === '') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'file' cannot be empty. Received ''");
    if (!options.shell) return [file, ...list];
    return [typeof options.shell === 'string' ? options.shell : '/bin/sh', '-c', [file, ...list].join(' ')];
  }
  function sorted(list, options, callback) {
    if (!Array.isArray(list)) { callback = options; options = list; list = []; }
    if (typeof options === 'function') { callback = options; options = undefined; }
    return [list || [], options || {}, callback];
  }
  const bytesOf = (input, encoding) => (input === undefined || input === null ? '' : binary(typeof input === 'string' ? Buffer.from(input, encoding === 'buffer' ? 'utf8' : encoding) : Buffer.from(input.buffer || input, input.byteOffset || 0, input.byteLength)));
  const shown = (bytes, encoding) => { const buffer = Buffer.from(bytes); return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer; };
  function notStarted(number, call, words) {
    const error = ofSystem(number, `${call} ${words[0]}`);
    error.message = `${call} ${words[0]} ${error.code}`;
    error.path = words[0]; error.spawnargs = words.slice(1);
    return error;
  }
  const cut = (bytes, most) => (most !== Infinity && bytes.byteLength > most ? bytes.slice(0, most) : bytes);

  function runNow(words, options, usual, call = 'spawnSync') {
    const ready = prepared(words, options, usual);
    const answer = native.runNow(ready.words, ready.cwd, ready.variables, bytesOf(options.input, options.encoding), ready.streams, ready.bounds);
    if (typeof answer === 'number') return { error: notStarted(-answer, call, ready.words), status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
    const [status, signal, output, complaint, ended] = answer;
    const kept = (at, bytes) => (ready.streams[at] === 'pipe' ? shown(cut(bytes, ready.most), options.encoding) : null);
    const made = { status: status < 0 ? null : status, signal: SIGNALS[signal] || (signal ? String(signal) : null), output: [null, kept(1, output), kept(2, complaint)], pid: 0 };
    made.stdout = made.output[1]; made.stderr = made.output[2];
    if (ended === 1) { made.error = notStarted(110, call, ready.words); made.error.code = 'ETIMEDOUT'; made.error.message = `${call} ${words[0]} ETIMEDOUT`; made.signal = options.killSignal || 'SIGTERM'; }
    if (ended === 2) { made.error = notStarted(105, call, ready.words); made.error.code = 'ENOBUFS'; made.error.message = `${call} ${words[0]} ENOBUFS`; }
    return made;
  }
  function spawnSync(file, list, options) {
    [list, options] = sorted(list, options);
    return runNow(wordsOf(file, list, options), options, 'pipe');
  }
  function outputOf(made, command, options) {
    const own = options.stdio === undefined && made.stderr !== null && made.stderr !== undefined;
    if (own && made.stderr.length > 0) internal.process.stderr.write(made.stderr);
    if (!made.error && made.status === 0) return made.stdout;
    const error = made.error || new Error(`Command failed: ${command}${made.stderr && made.stderr.length > 0 ? `\n${made.stderr.toString()}` : ''}`);
    for (const key of ['status', 'signal', 'output', 'pid', 'stdout', 'stderr']) error[key] = made[key];
    throw error;
  }
  function execFileSync(file, list, options) {
    [list, options] = sorted(list, options);
    return outputOf(runNow(wordsOf(file, list, options), options, 'pipe'), [file, ...list].join(' '), options);
  }
  function execSync(command, options = {}) {
    const shell = { ...options, shell: options.shell || true };
    return outputOf(runNow(wordsOf(command, [], shell), shell, 'pipe'), command, options);
  }

  // Begins when its input is whole: when nobody writes any, or when it is ended.
  class ChildProcess extends EventEmitter {
    constructor(words, options, usual) {
      super();
      this.pid = undefined; this.exitCode = null; this.signalCode = null; this.killed = false; this.connected = false;
      this.spawnfile = words[0]; this.spawnargs = words;
      const ready = prepared(words, options, usual), parts = [];
      const child = this;
      let isBegun = false, isWritten = false;
      const begin = () => {
        if (isBegun) return;
        isBegun = true;
        const answer = native.run(ready.words, ready.cwd, ready.variables, binary(Buffer.concat(parts)), ready.streams, ready.bounds);
        if (answer < 0) internal.later(() => this._over(-answer)); else internal.jobs.begin(answer, (error, done) => this._over(error, done));
      };
      this.stdin = ready.streams[0] === 'pipe' ? new Writable({ write(chunk, encoding, callback) { isWritten = true; parts.push(Buffer.from(chunk, encoding)); callback(); }, final(callback) { begin(); callback(); } }) : null;
      this.stdout = ready.streams[1] === 'pipe' ? new Readable({ read() {} }) : null;
      this.stderr = ready.streams[2] === 'pipe' ? new Readable({ read() {} }) : null;
      this.stdio = [this.stdin, this.stdout, this.stderr];
      if (options.signal) options.signal.addEventListener('abort', () => { child._aborted = options.signal.reason; });
      internal.setImmediate(() => { if (!isWritten) begin(); });
    }
    _over(number, answer) {
      if (number !== 0) { const error = notStarted(number, 'spawn', this.spawnargs); this.emit('error', error); for (const stream of [this.stdout, this.stderr]) if (stream) stream.push(null); this.emit('close', -number, null); return; }
      const [status, signal, output, complaint, ended] = answer;
      this.ended = ended;
      if (this._aborted !== undefined) { this.emit('error', this._aborted); return; }
      this.emit('spawn');
      this.exitCode = status < 0 ? null : status; this.signalCode = signal === 0 ? null : ended === 1 ? 'SIGTERM' : SIGNALS[signal] || String(signal);
      for (const [stream, bytes] of [[this.stdout, output], [this.stderr, complaint]]) if (stream) { if (bytes.byteLength > 0) stream.push(Buffer.from(bytes)); stream.push(null); }
      this.emit('exit', this.exitCode, this.signalCode);
      // Its streams are read before it is closed.
      const streams = [this.stdout, this.stderr].filter(Boolean);
      let open = streams.filter((stream) => !stream.readableEnded && (stream.listenerCount('data') > 0 || stream.listenerCount('readable') > 0)).length;
      const close = () => this.emit('close', this.exitCode, this.signalCode);
      if (open === 0) { internal.setImmediate(close); return; }
      for (const stream of streams) stream.once('end', () => { if (--open === 0) nextTick(close); });
    }
    kill() { return false; }
    ref() {} unref() {} disconnect() {} send() { return false; }
  }
  function spawn(file, list, options) {
    [list, options] = sorted(list, options);
    return new ChildProcess(wordsOf(file, list, options), { maxBuffer: Infinity, ...options }, 'pipe');
  }
  function execFile(file, list, options, callback) {
    if (typeof list === 'function') { callback = list; list = []; options = {}; } else [list, options, callback] = sorted(list, options, callback);
    const child = new ChildProcess(wordsOf(file, list, options), options, 'pipe');
    const most = options.maxBuffer === undefined ? 1024 * 1024 : options.maxBuffer, encoding = options.encoding === undefined ? 'utf8' : options.encoding;
    const parts = [[], []];
    child.stdout.on('data', (part) => parts[0].push(part)); child.stderr.on('data', (part) => parts[1].push(part));
    let isTold = false;
    const tell = (error) => {
      if (isTold) return;
      isTold = true;
      const [output, complaint] = parts.map((all) => { const whole = Buffer.concat(all); return shown(cut(whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.length), most), encoding === null ? 'buffer' : encoding); });
      if (error) Object.assign(error, { stdout: output, stderr: complaint });
      if (callback) callback(error || null, output, complaint);
    };
    child.on('error', tell);
    child.on('close', (code, signal) => {
      if (code === 0 && signal === null && !child.ended) return tell();
      const command = options.shell ? file : [file, ...list].join(' ');
      const complaint = Buffer.concat(parts[1]).toString();
      const error = child.ended === 2 ? coded(RangeError, 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER', 'stdout maxBuffer length exceeded') : Object.assign(new Error(`Command failed: ${command}\n${complaint}`), { code });
      Object.assign(error, { killed: child.ended > 0, signal, cmd: command });
      return tell(error);
    });
    return child;
  }
  function exec(command, options, callback) {
    if (typeof options === 'function') { callback = options; options = {}; }
    return execFile(command, [], { ...options, shell: (options && options.shell) || true }, callback);
  }
  const custom = Symbol.for('nodejs.util.promisify.custom');
  const asPromise = (start) => (...all) => new Promise((resolve, reject) => { start(...all, (error, stdout, stderr) => { if (error) reject(error); else resolve({ stdout, stderr }); }); });
  Object.defineProperty(exec, custom, { value: asPromise(exec) });
  Object.defineProperty(execFile, custom, { value: asPromise(execFile) });
  const fork = () => { throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'child_process.fork is not available in a guest'); };
  void messages;
  internal.builtins.set('child_process', { ChildProcess, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync });
})
