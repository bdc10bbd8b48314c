// Callbacks, promises, streams, and the order in which things happen.
'use strict';
const fs = require('fs');
const { pipeline } = require('stream/promises');
const { Transform, Readable, PassThrough } = require('stream');
const util = require('util');
const order = [];
process.nextTick(() => { order.push('tick'); Promise.resolve().then(() => order.push('micro in tick')); process.nextTick(() => order.push('tick in tick')); });
Promise.resolve().then(() => { order.push('micro'); process.nextTick(() => order.push('tick in micro')); }).then(() => order.push('micro 2'));
queueMicrotask(() => order.push('queued'));
order.push('sync');
const over = new Promise((resolve) => {
  // What waits begins here: before, a slow start would decide about the order.
  setImmediate(() => {
    order.push('immediate');
    setTimeout(() => order.push('timeout 60'), 60);
    setTimeout(() => order.push('timeout 20'), 20);
    let left = 2;
    const interval = setInterval(() => { order.push('interval'); if (--left === 0) { clearInterval(interval); resolve(); } }, 100);
  });
});
const never = setTimeout(() => order.push('never'), 1); clearTimeout(never);
setTimeout(() => {}, 100000).unref();
(async () => {
  await over;
  console.log(order);
  await fs.promises.mkdir('later');
  await fs.promises.writeFile('later/one', 'line 1\nline 2\nline 3');
  console.log(await fs.promises.readFile('later/one', 'utf8'), await fs.promises.readdir('later'));
  const handle = await fs.promises.open('later/one', 'r+');
  console.log((await handle.read(Buffer.alloc(4), 0, 4, 2)).buffer.toString(), (await handle.stat()).size, (await handle.write('LINE', 0)).bytesWritten);
  await handle.close();
  for (const name of ['none', 'later']) { try { await fs.promises.readFile(name); } catch (error) { console.log(error.code, error.message); } }
  await new Promise((resolve) => fs.readFile('later/one', 'utf8', (error, text) => { console.log(error, text); resolve(); }));
  await new Promise((resolve) => fs.readFile('none', (error, text) => { console.log(error.code, text); resolve(); }));
  await new Promise((resolve) => fs.stat('later', (error, about) => { console.log(error, about.isDirectory()); resolve(); }));
  console.log(await util.promisify(fs.readFile)('later/one', 'utf8'));
  let upper = '';
  const made = new Transform({ transform(chunk, encoding, callback) { callback(null, chunk.toString().toUpperCase()); } });
  made.on('data', (chunk) => { upper += chunk; });
  await pipeline(fs.createReadStream('later/one'), made);
  console.log(upper);
  await pipeline(Readable.from(['a', 'b', 'c']), fs.createWriteStream('later/two'));
  console.log(fs.readFileSync('later/two', 'utf8'));
  let parts = [];
  for await (const chunk of fs.createReadStream('later/one', { highWaterMark: 5, start: 2, end: 12 })) parts.push(chunk.toString());
  console.log(parts);
  for await (const line of require('readline').createInterface({ input: fs.createReadStream('later/one') })) console.log('line:', line);
  const failed = fs.createReadStream('later/none');
  failed.on('error', (error) => console.log('stream', error.code));
  failed.on('close', () => console.log('closed'));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const through = new PassThrough();
  through.end('text'); console.log((await through.toArray()).map(String));
  const writer = fs.createWriteStream('later/three');
  writer.write('1'); writer.write('2'); writer.end('3');
  await require('events').once(writer, 'finish');
  console.log(fs.readFileSync('later/three', 'utf8'), writer.bytesWritten);
  await fs.promises.rm('later', { recursive: true });
  const results = await Promise.allSettled([Promise.reject(new Error('no')), 1]);
  console.log(results.map((one) => one.status));
  process.on('exit', (status) => console.log('exit', status));
  process.exitCode = 3;
})();
