// What Node has and a guest has not: sockets, servers, threads, addons. The modules are there, because packages
// ask for them without using them; whoever uses one is told.
(function (native, internal) {
  'use strict';
  const { coded } = internal.errors;
  const { EventEmitter } = internal;
  const refused = (module, name) => function () { throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', `${module}.${name} is not available in a guest`); };
  const classOf = (module, name) => class extends EventEmitter { constructor() { super(); refused(module, name)(); } };
  function module_(name, functions, classes = [], more = {}) {
    const made = { ...more };
    for (const one of functions) made[one] = refused(name, one);
    for (const one of classes) Object.defineProperty(made[one] = classOf(name, one), 'name', { value: one });
    internal.builtins.set(name, made);
    return made;
  }
  module_('net', ['connect', 'createConnection', 'createServer'], ['Server', 'Socket', 'Stream'], { isIP: (text) => (/^(\d{1,3}\.){3}\d{1,3}$/.test(text) ? 4 : /^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text) ? 6 : 0), isIPv4: (text) => /^(\d{1,3}\.){3}\d{1,3}$/.test(text), isIPv6: (text) => /^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text) });
  module_('tls', ['connect', 'createServer', 'createSecureContext'], ['TLSSocket', 'Server']);
  const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'];
  for (const name of ['http', 'https']) module_(name, ['get', 'request', 'createServer'], ['Agent', 'ClientRequest', 'IncomingMessage', 'OutgoingMessage', 'Server', 'ServerResponse'], { METHODS: methods, STATUS_CODES: { 200: 'OK', 404: 'Not Found' }, globalAgent: {} });
  module_('http2', ['connect', 'createServer', 'createSecureServer'], [], { constants: {} });
  module_('dgram', ['createSocket'], ['Socket']);
  const dns = module_('dns', ['lookup', 'resolve', 'resolve4', 'resolve6', 'reverse'], ['Resolver']);
  dns.promises = module_('dns/promises', ['lookup', 'resolve', 'resolve4', 'resolve6', 'reverse'], ['Resolver']);
  module_('cluster', ['fork', 'setupPrimary'], [], { isMaster: true, isPrimary: true, isWorker: false, workers: {} });
  module_('inspector', ['open', 'close'], ['Session'], { url: () => undefined });
  module_('worker_threads', [], ['Worker', 'MessageChannel', 'BroadcastChannel'], { isMainThread: true, parentPort: null, threadId: 0, workerData: null });
  module_('v8', ['serialize', 'deserialize', 'writeHeapSnapshot', 'getHeapSnapshot'], [], { setFlagsFromString() {}, getHeapStatistics: () => ({ total_heap_size: 0, used_heap_size: 0, heap_size_limit: 0 }), startupSnapshot: { isBuildingSnapshot: () => false } });
  module_('zlib', ['deflate', 'deflateRaw', 'deflateSync', 'gunzip', 'gunzipSync', 'gzip', 'gzipSync', 'inflate', 'inflateRaw', 'inflateSync', 'brotliCompressSync', 'brotliDecompressSync', 'createGunzip', 'createGzip', 'createInflate', 'createDeflate', 'createBrotliDecompress'], [], { constants: {} });
  const compile = (code, options) => native.compile(String(code), (options && (options.filename || (typeof options === 'string' && options))) || 'evalmachine.<anonymous>');
  class Script { #code; #options; constructor(code, options) { this.#code = code; this.#options = options; } runInThisContext() { return compile(this.#code, this.#options); } runInNewContext() { return refused('vm', 'runInNewContext')(); } runInContext() { return refused('vm', 'runInContext')(); } }
  module_('vm', ['createContext', 'runInContext', 'runInNewContext', 'compileFunction'], ['SourceTextModule'], { Script, isContext: () => false, runInThisContext: compile });
})
