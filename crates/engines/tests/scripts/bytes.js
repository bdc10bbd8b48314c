// Buffers, texts and their encodings, hashes, addresses.
'use strict';
const say = (...all) => console.log(...all);
const fails = (act) => { try { say('did not fail', act()); } catch (error) { say(error.name, error.code, error.message); } };
const text = 'héllo €𝄞';
for (const encoding of ['utf8', 'hex', 'base64', 'base64url', 'latin1', 'ascii', 'utf16le', 'binary', 'ucs2']) { const bytes = Buffer.from(text, encoding === 'hex' || encoding.startsWith('base64') ? 'utf8' : encoding); say(encoding, bytes, bytes.toString(encoding), Buffer.byteLength(text, encoding)); }
say(Buffer.from('68656c6c6fzz', 'hex'), Buffer.from('aGk', 'base64'), Buffer.from('a-_b==', 'base64'), Buffer.from([1, 256, -1, 2.7, '5', 'x']), Buffer.from(new Uint16Array([1, 256])), Buffer.from(new ArrayBuffer(2)), Buffer.from({ length: 2, 0: 7, 1: 8 }), Buffer.from(Buffer.from('x').toJSON()));
const bytes = Buffer.from('0123456789');
say(bytes.slice(2, 4).toString(), bytes.subarray(-3).toString(), bytes.indexOf('45'), bytes.indexOf(0x39), bytes.lastIndexOf('1'), bytes.includes('78'), bytes.indexOf('x'), bytes.indexOf(''), bytes.equals(Buffer.from('0123456789')), Buffer.compare(Buffer.from('a'), Buffer.from('b')));
const slice = bytes.subarray(1, 3); slice[0] = 65; say(bytes.toString(), bytes.length, bytes.write('zz', 8), bytes.toString(), bytes.fill('ab', 0, 5).toString(), bytes.copy(bytes, 5, 0, 3), bytes.toString());
const numbers = Buffer.alloc(32);
numbers.writeUInt8(255, 0); numbers.writeInt16LE(-2, 1); numbers.writeUInt32BE(0xdeadbeef, 3); numbers.writeDoubleLE(1.5, 7); numbers.writeBigInt64BE(-5n, 15); numbers.writeFloatBE(0.5, 23); numbers.writeIntBE(-70000, 27, 3);
say(numbers, numbers.readUInt8(0), numbers.readInt16LE(1), numbers.readUInt32BE(3), numbers.readDoubleLE(7), numbers.readBigInt64BE(15), numbers.readFloatBE(23), numbers.readIntBE(27, 3), numbers.readUIntLE(27, 3));
fails(() => numbers.readUInt8(32)); fails(() => numbers.readInt8('x')); fails(() => numbers.writeUInt8(256, 0)); fails(() => Buffer.alloc(-1)); fails(() => Buffer.alloc('x')); fails(() => Buffer.from(5)); fails(() => Buffer.from(null)); fails(() => Buffer.from('x', 'nonsense')); fails(() => Buffer.concat('x'));
say(Buffer.concat([Buffer.from('a'), Buffer.from('bc')]), Buffer.concat([Buffer.from('abc')], 2), Buffer.isBuffer(bytes), Buffer.isBuffer(new Uint8Array(1)), Buffer.isEncoding('UTF-8'), Buffer.isEncoding('x'), JSON.stringify(Buffer.from('a')), Buffer.from('abcd').swap16().toString(), [...Buffer.from('ab').entries()], Buffer.alloc(3, 'ab'), Buffer.alloc(3, 1));
say(new TextEncoder().encode('é'), new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x68])), new TextDecoder().decode(new Uint8Array([0xff, 0x41, 0xe2, 0x82])), new TextDecoder('utf-16le').decode(new Uint8Array([65, 0])));
fails(() => new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff])));
const decoder = new (require('string_decoder').StringDecoder)('utf8'); say(decoder.write(Buffer.from([0xe2, 0x82])), decoder.write(Buffer.from([0xac])), decoder.end(Buffer.from([0xe2])));
const crypto = require('crypto');
for (const name of ['sha1', 'sha256', 'sha512', 'sha384', 'sha224']) say(name, crypto.createHash(name).update('te').update(Buffer.from('xt')).digest('hex'), crypto.createHmac(name, 'key').update('text').digest('base64'));
say(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), crypto.randomBytes(8).length, crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), crypto.randomInt(5) < 5);
say(atob('aGVsbG8='), btoa('hello'));
for (const one of ['http://user:pa%20ss@Example.COM:8080/a/./b/../c d?q=1&q=2#frag', 'https://example.com', 'https://example.com:443/x', 'file:///a/b%20c', 'mailto:a@b.c', 'http://[::1]:80/', 'http://1.2.3.4/', 'http://münchen.de/ü?ü#ü', 'data:text/plain,hi', 'http://x/%7Efoo/../bar', 'javascript:alert(1)', 'http://0x7f.1/']) { const url = new URL(one); say(url.href, url.origin, url.host, url.hostname, url.port, url.pathname, url.search, url.hash, url.username, url.password); }
for (const [one, base] of [['../x', 'http://a/b/c/d'], ['//h/x', 'http://a/b'], ['?q', 'http://a/b?c#d'], ['#h', 'http://a/b?c'], ['/r', 'http://a/b/c'], ['x/y', 'http://a/b/c'], ['', 'http://a/b?c#d'], ['http:x', 'http://a/b/c']]) say(new URL(one, base).href);
for (const one of ['nonsense', 'http://', '/x', 'http://a b/', 'http://a:99999/']) fails(() => new URL(one));
const url = new URL('http://a/b?x=1'); url.searchParams.append('y', 'a b&c'); url.hash = 'z'; url.pathname = '/p q'; url.port = '81'; url.protocol = 'https'; url.hostname = 'other'; url.search = '?n=é'; say(url.href, [...url.searchParams], JSON.stringify({ url }));
const params = new URLSearchParams({ a: '1', b: 'x y' }); params.append('a', '2'); params.set('b', '3'); params.sort(); say(params.toString(), params.getAll('a'), params.has('c'), params.get('c'), [...params.keys()], params.size);
const { parse, format, fileURLToPath, pathToFileURL } = require('url'); say(fileURLToPath('file:///a%20b'), pathToFileURL('/a b#c').href, parse('http://u:p@host:1/p?q=1#h').pathname, format({ protocol: 'http', host: 'h', pathname: '/p', query: { a: 1 } }));
const querystring = require('querystring'); say(querystring.parse('a=1&b=x%20y&a=2&c'), querystring.stringify({ a: [1, 2], b: 'x y', c: true, d: null }));
const path = require('path');
for (const one of ['/a/b/../c', 'a//b/', '', '.', '..', '/', 'a/../..', './a', '../a/b.tar.gz', '.hidden', 'a.', '/a/b/']) say(one, path.normalize(one), path.dirname(one), path.basename(one), path.extname(one), path.parse(one), path.isAbsolute(one), path.format(path.parse(one)));
say(path.join('a', '..', '/b', 'c'), path.resolve('/a', 'b', '../c'), path.relative('/a/b/c', '/a/d'), path.basename('a.txt', '.txt'), path.join(''), path.sep, path.relative('/a', '/a')); fails(() => path.join(1));
console.log('half \ud800 of a character'); process.stdout.write('the other \udc00 half\n'); console.log(['\ud800'].length, Buffer.from('\udc00'));
