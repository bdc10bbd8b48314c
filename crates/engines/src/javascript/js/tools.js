// `tools`: what an agent has, for a script that it wrote. Whatever name is asked for is asked of the agent, who knows which there
// are; one call at a time, in the order in which they were made.
(function (native, internal) {
  'use strict';
  if (native.hasTools() === 0) return;
  const { badArgument } = internal.errors;
  const waiting = [];
  let isCalling = false;

  function next() {
    const call = isCalling ? undefined : waiting.shift();
    if (call === undefined) return;
    const over = (error, answer) => {
      isCalling = false;
      next();
      if (error !== 0) call.reject(new Error(`the tool ${call.name} cannot be called (${error})`));
      else if (answer[0] !== 0) call.reject(new Error(answer[1].replace(/^error: /, '')));
      else call.resolve(answer[1]);
    };
    isCalling = true;
    const job = native.callTool(call.name, call.text);
    if (job < 0) over(-job); else internal.jobs.begin(job, over);
  }
  function caller(name) {
    return (given = {}) => new Promise((resolve, reject) => {
      if (given === null || typeof given !== 'object' || Array.isArray(given)) throw badArgument('arguments', 'of type object', given);
      waiting.push({ name, text: JSON.stringify(given), resolve, reject });
      next();
    });
  }
  // Nobody waits for the tools themselves.
  const get = (_, name) => (typeof name === 'string' && name !== 'then' ? caller(name) : undefined);
  Object.defineProperty(globalThis, 'tools', { value: new Proxy(Object.freeze(Object.create(null)), { get }) });
})
