// Events and failures: of the program, and of what it asks for.
'use strict';
const EventEmitter = require('events');
const assert = require('assert');
const say = (...all) => console.log(...all);
const emitter = new EventEmitter();
emitter.once('a', (...all) => say('once', all)); emitter.on('a', function () { say('on', this === emitter); }); emitter.prependListener('a', () => say('first'));
say(emitter.emit('a', 1, 2), emitter.emit('a'), emitter.emit('b'), emitter.listenerCount('a'), emitter.eventNames());
try { emitter.emit('error', new Error('bad')); } catch (error) { say(error.message); }
try { emitter.emit('error', 'text'); } catch (error) { say(error.code, error.message); }
try { emitter.on('x', 5); } catch (error) { say(error.name, error.code, error.message); }
emitter.removeAllListeners('a'); say(emitter.emit('a'));
const target = new EventTarget(); target.addEventListener('x', (event) => say(event.type, event instanceof Event), { once: true }); target.dispatchEvent(new Event('x')); target.dispatchEvent(new Event('x'));
const controller = new AbortController(); controller.signal.addEventListener('abort', () => say('aborted', controller.signal.reason.name)); controller.abort(); say(controller.signal.aborted);
const fails = (act) => { try { act(); say('holds'); } catch (error) { say(error.name, error.code, error.message.split('\n')[0], error.operator); } };
fails(() => assert(0, 'zero')); fails(() => assert.ok(true)); fails(() => assert.equal(1, '1')); fails(() => assert.equal(1, 2)); fails(() => assert.deepStrictEqual({ a: [1] }, { a: [1] })); fails(() => assert.deepStrictEqual([1], ['1'])); fails(() => assert.deepEqual([1], ['1'])); fails(() => assert.throws(() => { throw new TypeError('x'); }, TypeError)); fails(() => assert.throws(() => { throw new TypeError('x'); }, { message: 'x' })); fails(() => assert.throws(() => {})); fails(() => assert.notStrictEqual(1, 1)); fails(() => assert.match('abc', /b/)); fails(() => assert.strictEqual('a', 'a')); fails(() => assert.rejects); fails(() => assert.ifError(null)); fails(() => assert.fail('why'));
for (const act of [() => null.x, () => undefinedName, () => JSON.parse('{'), () => new Array(-1), () => decodeURIComponent('%'), () => { 'use strict'; Object.freeze([]).push(1); }, () => Symbol() + '', () => 1n + 1, () => [].reduce((a) => a), () => new (class { constructor() { throw new RangeError('own'); } })()]) { try { act(); } catch (error) { say(error.name, error instanceof Error); } }
const error = new Error('outer', { cause: new Error('inner') }); say(error.cause.message, Object.prototype.toString.call(error), String(error), typeof error.stack, error.stack.startsWith('Error: outer'));
class Own extends Error { constructor(message) { super(message); this.name = 'Own'; this.extra = 1; } } try { throw new Own('mine'); } catch (caught) { say(caught instanceof Own, caught.name, caught.message, caught.extra, `${caught}`); }
Error.captureStackTrace && Error.captureStackTrace({});
process.on('uncaughtException', (caught, origin) => { say('uncaught', caught.message, origin); });
setTimeout(() => { throw new Error('in a timer'); }, 1);
Promise.reject(new Error('in a promise'));
process.on('exit', (status) => say('status', status, process.exitCode));
setTimeout(() => process.exit(7), 30);
