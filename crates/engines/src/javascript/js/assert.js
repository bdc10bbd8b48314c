// `assert`.
(function (native, internal) {
  'use strict';
  const { inspect, equal } = internal;
  const { coded, badArgument } = internal.errors;
  class AssertionError extends Error {
    constructor(options) {
      super(options.message);
      Object.defineProperty(this, 'name', { value: 'AssertionError', configurable: true, writable: true, enumerable: false });
      this.generatedMessage = Boolean(options.generated); this.code = 'ERR_ASSERTION'; this.actual = options.actual; this.expected = options.expected; this.operator = options.operator;
    }
  }
  function fail(actual, expected, message, operator, otherwise) {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message: message === undefined ? otherwise : message, generated: message === undefined, actual, expected, operator });
  }
  const shown = (value) => inspect(value, { compact: false, depth: 1000, maxArrayLength: Infinity, sorted: true, breakLength: Infinity });
  function assert(...all) { const [value, message] = all; if (!value) fail(value, true, all.length === 0 ? 'No value argument passed to `assert.ok()`' : message, '==', 'The expression evaluated to a falsy value'); }
  function matches(error, expected, message) {
    if (expected === undefined) return;
    if (typeof expected === 'function') {
      if (expected.prototype !== undefined && error instanceof expected) return;
      if (Error.isPrototypeOf(expected) || expected === Error) fail(error, expected, message, 'throws', `The error is expected to be an instance of "${expected.name}". Received "${error && error.constructor && error.constructor.name}"\n\nError message:\n\n${error && error.message}`);
      if (Reflect.apply(expected, {}, [error]) === true) return;
      fail(error, expected, message, 'throws', `The ${expected.name ? `"${expected.name}"` : ''} validation function is expected to return "true".`);
    }
    if (expected instanceof RegExp) { if (!expected.test(String(error))) fail(error, expected, message, 'throws', `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(error))}\n`); return; }
    const keys = Object.keys(expected);
    if (expected instanceof Error) keys.push('name', 'message');
    for (const key of keys) if (!(expected[key] instanceof RegExp && typeof error[key] === 'string' ? expected[key].test(error[key]) : equal(error[key], expected[key], true))) fail(error, expected, message, 'throws', `Expected values to be strictly deep-equal:\n${shown(error[key])} !== ${shown(expected[key])}`);
  }
  function thrown(act, expected, message) {
    if (typeof act !== 'function') throw badArgument('fn', 'of type function', act);
    if (typeof expected === 'string') { message = expected; expected = undefined; }
    let error, failed = false;
    try { act(); } catch (caught) { error = caught; failed = true; }
    if (!failed) fail(undefined, expected, message, 'throws', `Missing expected exception${expected && expected.name ? ` (${expected.name})` : ''}.`);
    matches(error, expected, message);
  }
  async function rejected(act, expected, message) {
    if (typeof expected === 'string') { message = expected; expected = undefined; }
    let error, failed = false;
    try { await (typeof act === 'function' ? act() : act); } catch (caught) { error = caught; failed = true; }
    if (!failed) fail(undefined, expected, message, 'rejects', `Missing expected rejection${expected && expected.name ? ` (${expected.name})` : ''}.`);
    matches(error, expected, message);
  }
  Object.assign(assert, {
    AssertionError, ok: assert,
    fail(message = 'Failed') { fail(undefined, undefined, message, 'fail'); },
    equal(one, other, message) { if (!(one == other || (one !== one && other !== other))) fail(one, other, message, '==', `${inspect(one)} == ${inspect(other)}`); }, // eslint-disable-line
    notEqual(one, other, message) { if (one == other || (one !== one && other !== other)) fail(one, other, message, '!=', `${inspect(one)} != ${inspect(other)}`); }, // eslint-disable-line
    strictEqual(one, other, message) { if (!Object.is(one, other)) fail(one, other, message, 'strictEqual', `Expected values to be strictly equal:\n\n${inspect(one)} !== ${inspect(other)}\n`); },
    notStrictEqual(one, other, message) { if (Object.is(one, other)) fail(one, other, message, 'notStrictEqual', `Expected "actual" to be strictly unequal to: ${inspect(other)}`); },
    deepEqual(one, other, message) { if (!equal(one, other, false)) fail(one, other, message, 'deepEqual', `Expected values to be loosely deep-equal:\n\n${shown(one)}\n\nshould loosely deep-equal\n\n${shown(other)}`); },
    deepStrictEqual(one, other, message) { if (!equal(one, other, true)) fail(one, other, message, 'deepStrictEqual', `Expected values to be strictly deep-equal:\n+ actual - expected\n\n+ ${shown(one).replaceAll('\n', '\n+ ')}\n- ${shown(other).replaceAll('\n', '\n- ')}`); },
    notDeepEqual(one, other, message) { if (equal(one, other, false)) fail(one, other, message, 'notDeepEqual', `Expected "actual" not to be loosely deep-equal to: ${shown(other)}`); },
    notDeepStrictEqual(one, other, message) { if (equal(one, other, true)) fail(one, other, message, 'notDeepStrictEqual', `Expected "actual" not to be strictly deep-equal to: ${shown(other)}`); },
    throws: thrown, rejects: rejected,
    doesNotThrow(act, expected, message) { try { act(); } catch (error) { fail(error, expected, typeof expected === 'string' ? expected : message, 'doesNotThrow', `Got unwanted exception.\nActual message: "${error && error.message}"`); } },
    async doesNotReject(act, expected, message) { try { await (typeof act === 'function' ? act() : act); } catch (error) { fail(error, expected, message, 'doesNotReject', `Got unwanted rejection.\nActual message: "${error && error.message}"`); } },
    match(text, pattern, message) { if (typeof text !== 'string' || !pattern.test(text)) fail(text, pattern, message, 'match', `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`); },
    doesNotMatch(text, pattern, message) { if (pattern.test(text)) fail(text, pattern, message, 'doesNotMatch', `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`); },
    ifError(value) { if (value !== null && value !== undefined) fail(value, null, undefined, 'ifError', `ifError got unwanted exception: ${value && value.message ? value.message : inspect(value)}`); },
  });
  assert.strict = Object.assign((...all) => assert(...all), assert, { equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual });
  assert.strict.strict = assert.strict;
  void coded;
  internal.builtins.set('assert', assert);
  internal.builtins.set('assert/strict', assert.strict);
})
