// `fs`: each operation once, as the one that waits; the ones with callbacks and promises are made from it.
(function (native, internal) {
  'use strict';
  const { checked, ofSystem, coded, badArgument, outOfRange } = internal.errors;
  const { Buffer, binary, later, EventEmitter } = internal;
  const { Readable, Writable } = internal.stream;
  const constants = {
    F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4,
    O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_NOCTTY: 0o400, O_TRUNC: 0o1000, O_APPEND: 0o2000, O_NONBLOCK: 0o4000, O_DSYNC: 0o10000, O_DIRECTORY: 0o200000, O_NOFOLLOW: 0o400000, O_SYNC: 0o4010000,
    S_IFMT: 0o170000, S_IFREG: 0o100000, S_IFDIR: 0o040000, S_IFCHR: 0o020000, S_IFBLK: 0o060000, S_IFIFO: 0o010000, S_IFLNK: 0o120000, S_IFSOCK: 0o140000,
    S_IRWXU: 0o700, S_IRUSR: 0o400, S_IWUSR: 0o200, S_IXUSR: 0o100, S_IRWXG: 0o70, S_IRGRP: 0o40, S_IWGRP: 0o20, S_IXGRP: 0o10, S_IRWXO: 7, S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1,
    UV_FS_SYMLINK_DIR: 1, UV_FS_SYMLINK_JUNCTION: 2, UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2, UV_DIRENT_LINK: 3,
  };
  const FLAGS = { 'r': 0, 'rs': 0o4010000, 'r+': 2, 'rs+': 0o4010002, 'w': 0o1101, 'wx': 0o1301, 'xw': 0o1301, 'w+': 0o1102, 'wx+': 0o1302, 'a': 0o2101, 'ax': 0o2301, 'a+': 0o2102, 'ax+': 0o2302, 'as': 0o4012101, 'as+': 0o4012102 };

  function path_(value, name = 'path') {
    if (typeof value !== 'string') {
      if (value instanceof Uint8Array) value = Buffer.from(value).toString();
      else if (internal.URL && value instanceof internal.URL) value = internal.fileURLToPath(value);
    }
    if (typeof value !== 'string') throw badArgument(name, 'of type string or an instance of Buffer or URL', value);
    if (value.includes('\0')) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received ${internal.inspect(value)}`);
    return internal.wellFormed(value);
  }
  function fd_(fd) {
    if (typeof fd !== 'number') throw badArgument('fd', 'of type number', fd);
    if (!Number.isInteger(fd)) throw outOfRange('fd', 'an integer', fd);
    if (fd < 0 || fd > 2147483647) throw outOfRange('fd', '>= 0 && <= 2147483647', fd);
    return fd;
  }
  function flags_(flags, otherwise = 'r') {
    if (flags === undefined || flags === null) flags = otherwise;
    if (typeof flags === 'number') return flags;
    if (!Object.prototype.hasOwnProperty.call(FLAGS, flags)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'flags' is invalid. Received ${internal.inspect(flags)}`);
    return FLAGS[flags];
  }
  function mode_(mode, otherwise) {
    if (mode === undefined || mode === null) return otherwise;
    if (typeof mode === 'string') { if (!/^[0-7]+$/.test(mode)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'mode' must be a 32-bit unsigned integer or an octal string. Received ${internal.inspect(mode)}`); mode = Number.parseInt(mode, 8); }
    if (typeof mode !== 'number') throw badArgument('mode', 'of type number', mode);
    return mode >>> 0;
  }
  function options_(options, defaults) {
    if (options === undefined || options === null || typeof options === 'function') return defaults;
    if (typeof options === 'string') options = { encoding: options };
    if (typeof options !== 'object') throw badArgument('options', 'one of type string or object', options);
    if (options.encoding !== undefined && options.encoding !== null && options.encoding !== 'buffer' && !Buffer.isEncoding(options.encoding)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'encoding' is invalid encoding. Received ${internal.inspect(options.encoding)}`);
    return { ...defaults, ...options };
  }
  function data_(data, encoding, name = 'data') {
    if (typeof data === 'string') return encoding && !/^utf-?8$/i.test(encoding) ? [binary(Buffer.from(data, encoding)), true] : [internal.wellFormed(data), false];
    if (ArrayBuffer.isView(data)) return [binary(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)), true];
    throw badArgument(name, 'of type string or an instance of Buffer, TypedArray, or DataView', data);
  }
  const text_ = (text, options) => (options && options.encoding === 'buffer' ? Buffer.from(text) : options && options.encoding && !/^utf-?8$/i.test(options.encoding) ? Buffer.from(text).toString(options.encoding) : text);
  function seconds(time) {
    if (time instanceof Date) return time.getTime() / 1000;
    const value = Number(time);
    if (Number.isNaN(value)) throw badArgument('time', 'one of type number or string or an instance of Date', time);
    return value;
  }

  const dateOf = (milliseconds) => new Date(Math.round(Number(milliseconds)));
  class Stats {
    constructor(fields, big) {
      if (fields.length === 0) fields = [0, 0o020620, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
      // Word by word: a walk over many files makes one of these for each.
      this.dev = 1; this.mode = fields[1]; this.nlink = fields[2]; this.uid = fields[3]; this.gid = fields[4]; this.rdev = 0; this.blksize = 4096; this.ino = fields[0]; this.size = fields[5]; this.blocks = fields[6];
      this.atimeMs = fields[7] * 1000 + fields[8] / 1e6; this.mtimeMs = fields[9] * 1000 + fields[10] / 1e6; this.ctimeMs = this.birthtimeMs = fields[11] * 1000 + fields[12] / 1e6;
      if (big) {
        for (const name of Object.keys(this)) if (!name.endsWith('Ms')) this[name] = BigInt(this[name]);
        const named = [['atime', 7], ['mtime', 9], ['ctime', 11], ['birthtime', 11]].map(([name, at]) => [name, BigInt(fields[at]) * 1000000000n + BigInt(fields[at + 1])]);
        for (const [name, exact] of named) this[`${name}Ms`] = exact / 1000000n;
        for (const [name, exact] of named) this[`${name}Ns`] = exact;
      }
      // As Node has them: to the nearest millisecond, and of those that are whole to themselves.
      this.atime = dateOf(this.atimeMs); this.mtime = dateOf(this.mtimeMs); this.ctime = dateOf(this.ctimeMs); this.birthtime = dateOf(this.birthtimeMs);
    }
  }
  let kindOf;
  class Dirent {
    #kind;
    constructor(name, kind, parent) { this.name = name; this.parentPath = this.path = parent; this.#kind = kind; }
    static { kindOf = (entry) => entry.#kind; }
  }
  for (const [name, kind] of [['isFile', 0o100000], ['isDirectory', 0o040000], ['isSymbolicLink', 0o120000], ['isFIFO', 0o010000], ['isSocket', 0o140000], ['isCharacterDevice', 0o020000], ['isBlockDevice', 0o060000]]) {
    Stats.prototype[name] = function () { return (Number(this.mode) & 0o170000) === kind; };
    Dirent.prototype[name] = function () { return kindOf(this) << 12 === kind; };
    for (const Kind of [Stats, Dirent]) Object.defineProperty(Kind.prototype, name, { enumerable: false });
  }

  function stat(path, options, syscall, follow) {
    path = path_(path);
    const answer = native.stat(path, follow);
    if (typeof answer === 'number') { if (options && options.throwIfNoEntry === false && (answer === -2 || answer === -20)) return undefined; checked(answer, syscall, path); }
    return new Stats(answer, Boolean(options && options.bigint));
  }
  function joined(parent, name) { return parent.endsWith('/') ? parent + name : `${parent}/${name}`; }
  function names(path, syscall) {
    const answer = checked(native.list(path), syscall, path), all = [];
    for (let at = 0; at < answer.length; at += 2) all.push([answer[at], answer[at + 1]]);
    return all;
  }
  function whole(path) {
    const parts = internal.path.resolve(path).split('/').filter(Boolean);
    let at = '', links = 0;
    while (parts.length > 0) {
      const part = parts.shift();
      if (part === '..') { at = at.slice(0, Math.max(at.lastIndexOf('/'), 0)); continue; }
      const next = `${at}/${part}`;
      const fields = checked(native.stat(next, false), 'lstat', next);
      if ((fields[1] & 0o170000) !== 0o120000) { at = next; continue; }
      if (++links > 40) throw ofSystem(40, 'realpath', path);
      const target = checked(native.readlink(next), 'readlink', next);
      if (target[0] === '/') at = '';
      parts.unshift(...target.split('/').filter((one) => one !== '' && one !== '.'));
    }
    return at || '/';
  }
  function readAll(fd) {
    const all = [];
    for (;;) {
      const piece = checked(native.read(fd, 65536, -1), 'read');
      if (piece.byteLength === 0) return Buffer.concat(all);
      all.push(new Uint8Array(piece));
    }
  }
  function writeAll(fd, text, isBinary, position = -1) {
    // In pieces where it is much: each is written in full or counted.
    let bytes = isBinary ? text : binary(internal.utf8(text)), at = 0;
    if (bytes.length === 0) return 0;
    while (at < bytes.length) {
      const count = checked(native.write(fd, bytes.slice(at, at + 1048576), true, position < 0 ? -1 : position + at), 'write');
      at += count;
    }
    return at;
  }

  const sync = {
    open: (path, flags, mode) => { path = path_(path); return checked(native.open(path, flags_(flags), mode_(mode, 0o666)), 'open', path); },
    close: (fd) => { checked(native.close(fd_(fd)), 'close'); },
    read(fd, into, at, length, position) {
      if (at !== null && typeof at === 'object') ({ offset: at, length, position } = at);
      if (!ArrayBuffer.isView(into)) throw badArgument('buffer', 'an instance of Buffer, TypedArray, or DataView', into);
      at = at === undefined || at === null ? 0 : at;
      length = length === undefined || length === null ? into.byteLength - at : length;
      if (at < 0 || at > into.byteLength) throw outOfRange('offset', `>= 0 && <= ${into.byteLength}`, at);
      if (length < 0 || length > into.byteLength - at) throw outOfRange('length', `>= 0 && <= ${into.byteLength - at}`, length);
      if (length === 0) return 0;
      const bytes = checked(native.read(fd_(fd), length, position === undefined || position === null ? -1 : Number(position)), 'read');
      new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(new Uint8Array(bytes), at);
      return bytes.byteLength;
    },
    readv(fd, buffers, position) { let total = 0; for (const one of buffers) { const count = sync.read(fd, one, 0, one.byteLength, typeof position === 'number' ? position + total : null); total += count; if (count < one.byteLength) break; } return total; },
    write(fd, data, at, length, position) {
      if (typeof data === 'string') {
        const [text, isBinary] = data_(data, typeof length === 'string' ? length : undefined);
        return checked(native.write(fd_(fd), text, isBinary, typeof at === 'number' ? at : -1), 'write');
      }
      if (!ArrayBuffer.isView(data)) throw badArgument('buffer', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
      if (at !== null && typeof at === 'object') ({ offset: at, length, position } = at);
      at = at === undefined || at === null ? 0 : at;
      length = length === undefined || length === null ? data.byteLength - at : length;
      if (at < 0 || at > data.byteLength) throw outOfRange('offset', `>= 0 && <= ${data.byteLength}`, at);
      if (length < 0 || length > data.byteLength - at) throw outOfRange('length', `>= 0 && <= ${data.byteLength - at}`, length);
      const bytes = new Uint8Array(data.buffer, data.byteOffset + at, length);
      return checked(native.write(fd_(fd), binary(bytes), true, typeof position === 'number' ? position : -1), 'write');
    },
    writev(fd, buffers, position) { let total = 0; for (const one of buffers) total += sync.write(fd, one, 0, one.byteLength, typeof position === 'number' ? position + total : null); return total; },
    readFile(path, options) {
      if (typeof path === 'string' && (options === 'utf8' || options === 'utf-8')) { path = path_(path); const text = native.readText(path); return text === -21 ? checked(text, 'read') : checked(text, 'open', path); }
      options = options_(options, { flag: 'r' });
      const isText = options.encoding && options.encoding !== 'buffer';
      if (typeof path === 'number') { const bytes = readAll(fd_(path)); return isText ? bytes.toString(options.encoding) : bytes; }
      path = path_(path);
      if (options.flag !== 'r' && options.flag !== undefined) { const fd = sync.open(path, options.flag); try { const bytes = readAll(fd); return isText ? bytes.toString(options.encoding) : bytes; } finally { sync.close(fd); } }
      if (isText && /^utf-?8$/i.test(options.encoding)) { const text = native.readText(path); return text === -21 ? checked(text, 'read') : checked(text, 'open', path); }
      const answer = native.readFile(path);
      if (answer === -21) checked(answer, 'read');
      const bytes = Buffer.from(checked(answer, 'open', path));
      return isText ? bytes.toString(options.encoding) : bytes;
    },
    writeFile(path, data, options) {
      options = options_(options, { encoding: 'utf8', mode: 0o666, flag: 'w' });
      const [text, isBinary] = data_(data, options.encoding);
      if (typeof path === 'number') { writeAll(path, text, isBinary); return; }
      const fd = sync.open(path, options.flag, options.mode);
      try { if (text.length < 65536 && !isBinary) { let done = text === '' ? 0 : checked(native.write(fd, text, false, -1), 'write'); void done; } else writeAll(fd, text, isBinary); } finally { sync.close(fd); }
    },
    appendFile(path, data, options) { sync.writeFile(path, data, { ...options_(options, { encoding: 'utf8', mode: 0o666 }), flag: (options && options.flag) || 'a' }); },
    stat: (path, options) => stat(path, options, 'stat', true),
    lstat: (path, options) => stat(path, options, 'lstat', false),
    fstat: (fd, options) => new Stats(checked(native.fstat(fd_(fd)), 'fstat'), Boolean(options && options.bigint)),
    statfs(path) { path = path_(path); const [bsize, blocks, bfree, files, ffree] = checked(native.space(path), 'statfs', path); return { type: 0, bsize, blocks, bfree, bavail: bfree, files, ffree }; },
    access(path, mode) { path = path_(path); checked(native.access(path, mode === undefined ? 0 : mode), 'access', path); },
    readdir(path, options) {
      path = path_(path);
      options = options_(options, {});
      const all = [];
      const left = [[path, '']];
      while (left.length > 0) {
        const [at, prefix] = left.shift();
        for (const [name, kind] of names(at, 'scandir')) {
          all.push(options.withFileTypes ? new Dirent(text_(name, options), kind, at) : text_(prefix + name, options));
          if (options.recursive && kind === 4) left.push([joined(at, name), `${prefix}${name}/`]);
        }
      }
      return all;
    },
    mkdir(path, options) {
      path = path_(path);
      if (typeof options !== 'object' || options === null) options = { mode: options };
      const mode = mode_(options.mode, 0o777);
      if (!options.recursive) { checked(native.mkdir(path, mode), 'mkdir', path); return undefined; }
      let first;
      const full = internal.path.resolve(path), isRelative = path[0] !== '/', here = internal.cwd();
      let at = '';
      for (const part of full.split('/').filter(Boolean)) {
        at += `/${part}`;
        const answer = native.mkdir(at, mode);
        if (answer === undefined) { if (first === undefined) first = isRelative ? internal.path.relative(here, at) : at; continue; }
        if (answer === -17) {
          const fields = native.stat(at, true);
          if (typeof fields === 'number' || (fields[1] & 0o170000) !== 0o040000) throw ofSystem(at === full ? 17 : 20, 'mkdir', path);
        } else if (native.stat(at, true) < 0) throw ofSystem(-answer, 'mkdir', path);
      }
      return first;
    },
    mkdtemp(prefix, options) {
      prefix = path_(prefix, 'prefix');
      for (let tries = 0; ; tries++) {
        const letters = Array.from(new Uint8Array(native.random(6)), (byte) => 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'[byte % 62]).join('');
        const answer = native.mkdir(prefix + letters, 0o700);
        if (answer === undefined) return text_(prefix + letters, options_(options, {}));
        if (answer !== -17 || tries > 100) throw ofSystem(-answer, 'mkdtemp', `${prefix}XXXXXX`);
      }
    },
    rmdir(path, options) { path = path_(path); if (options && options.recursive) sync.rm(path, { recursive: true }); else checked(native.remove(path, true), 'rmdir', path); },
    unlink(path) { path = path_(path); checked(native.remove(path, false), 'unlink', path); },
    rm(path, options = {}) {
      path = path_(path);
      const fields = native.stat(path, false);
      if (fields < 0) { if (options.force && fields === -2) return; checked(fields, 'lstat', path); }
      if ((fields[1] & 0o170000) === 0o040000) {
        if (!options.recursive) { const error = coded(Error, 'ERR_FS_EISDIR', `Path is a directory: rm returned EISDIR (is a directory) ${path}`); error.name = 'SystemError'; error.errno = 21; error.syscall = 'rm'; error.path = path; throw error; }
        checked(native.removeTree(path), 'rm', path);
      } else checked(native.remove(path, false), 'rm', path);
    },
    rename(from, to) { from = path_(from, 'oldPath'); to = path_(to, 'newPath'); checked(native.rename(from, to), 'rename', from, to); },
    link(from, to) { from = path_(from, 'existingPath'); to = path_(to, 'newPath'); checked(native.link(from, to), 'link', from, to); },
    symlink(target, path) { target = path_(target, 'target'); path = path_(path); checked(native.symlink(target, path), 'symlink', target, path); },
    readlink(path, options) { path = path_(path); return text_(checked(native.readlink(path), 'readlink', path), options_(options, {})); },
    realpath(path, options) { return text_(whole(path_(path)), options_(options, {})); },
    chmod(path, mode) { path = path_(path); checked(native.chmod(path, mode_(mode, 0)), 'chmod', path); },
    fchmod(fd, mode) { checked(native.fchmod(fd_(fd), mode_(mode, 0)), 'fchmod'); },
    chown(path, uid, gid) { path = path_(path); checked(native.chown(path, uid >>> 0, gid >>> 0, true), 'chown', path); },
    lchown(path, uid, gid) { path = path_(path); checked(native.chown(path, uid >>> 0, gid >>> 0, false), 'lchown', path); },
    utimes(path, accessed, modified) { path = path_(path); checked(native.utimes(path, seconds(accessed), seconds(modified), true), 'utime', path); },
    lutimes(path, accessed, modified) { path = path_(path); checked(native.utimes(path, seconds(accessed), seconds(modified), false), 'lutime', path); },
    futimes(fd, accessed, modified) { checked(native.futimes(fd_(fd), seconds(accessed), seconds(modified)), 'futime'); },
    truncate(path, size = 0) { path = path_(path); checked(native.truncate(path, Math.max(0, size)), 'open', path); },
    ftruncate(fd, size = 0) { checked(native.ftruncate(fd_(fd), Math.max(0, size)), 'ftruncate'); },
    fsync(fd) { checked(native.sync(fd_(fd)), 'fsync'); },
    fdatasync(fd) { checked(native.sync(fd_(fd)), 'fdatasync'); },
    copyFile(from, to, mode = 0) {
      from = path_(from, 'src'); to = path_(to, 'dest');
      const named = (number) => ofSystem(number, 'copyfile', from, to);
      const source = native.open(from, 0, 0);
      if (source < 0) throw named(-source);
      try {
        const about = checked(native.fstat(source), 'copyfile', from, to);
        if ((about[1] & 0o170000) === 0o040000) throw named(21);
        const target = native.open(to, mode & 1 ? 0o301 : 0o101, about[1] & 0o777);
        if (target < 0) throw named(-target);
        try {
          const other = checked(native.fstat(target), 'copyfile', from, to);
          if (other[0] === about[0]) return;
          checked(native.ftruncate(target, 0), 'copyfile', from, to);
          for (;;) {
            const piece = checked(native.read(source, 1048576, -1), 'copyfile', from, to);
            if (piece.byteLength === 0) break;
            writeAll(target, binary(new Uint8Array(piece)), true);
          }
        } finally { native.close(target); }
      } finally { native.close(source); }
    },
    cp(from, to, options = {}) {
      from = path_(from, 'src'); to = path_(to, 'dest');
      const about = sync.lstat(from);
      if (options.filter && !options.filter(from, to)) return;
      if (about.isDirectory()) {
        if (!options.recursive) { const error = coded(Error, 'ERR_FS_EISDIR', `Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${from} is a directory (not copied)) ${from}`); throw error; }
        sync.mkdir(to, { recursive: true });
        for (const name of sync.readdir(from)) sync.cp(joined(from, name), joined(to, name), options);
      } else if (about.isSymbolicLink() && !options.dereference) { if (fs.existsSync(to)) sync.unlink(to); sync.symlink(sync.readlink(from), to); }
      else if (options.force === false && fs.existsSync(to)) { if (options.errorOnExist) throw coded(Error, 'ERR_FS_CP_EEXIST', `Target already exists: cp returned EEXIST (${to} already exists) ${to}`); }
      else { if (!fs.existsSync(internal.path.dirname(to))) sync.mkdir(internal.path.dirname(to), { recursive: true }); sync.copyFile(from, to); }
    },
    opendir(path) { return new Dir(path_(path)); },
  };
  class Dir {
    #left;
    constructor(path) { this.path = path; this.#left = sync.readdir(path, { withFileTypes: true }); }
    readSync() { return this.#left.shift() || null; }
    read(callback) { const one = this.readSync(); if (callback) { later(() => callback(null, one)); return undefined; } return Promise.resolve(one); }
    closeSync() {} close(callback) { if (callback) { later(() => callback(null)); return undefined; } return Promise.resolve(); }
    async *[Symbol.asyncIterator]() { for (;;) { const one = this.readSync(); if (one === null) return; yield one; } }
  }

  const fs = { constants, ...constants, Stats, Dirent, Dir };
  for (const name of ['F_OK', 'R_OK', 'W_OK', 'X_OK']) fs[name] = constants[name];
  for (const name of Object.keys(constants)) if (!/^[FRWX]_OK$/.test(name)) delete fs[name];
  const promises = { constants };
  for (const [name, operation] of Object.entries(sync)) {
    fs[`${name}Sync`] = operation;
    fs[name] = function (...rest) {
      const callback = rest.pop();
      if (typeof callback !== 'function') throw badArgument('cb', 'of type function', callback);
      // What is wrong with the arguments is told at once, and what the file system says later.
      let error = null, value;
      try { value = operation(...rest); } catch (caught) { if (caught.syscall === undefined) throw caught; error = caught; }
      later(() => { if (error) callback(error); else if (name === 'read' || name === 'write') callback(null, value, rest[1]); else if (name === 'readv' || name === 'writev') callback(null, value, rest[1]); else if (value === undefined) callback(null); else callback(null, value); });
    };
    if (['open', 'close', 'read', 'readv', 'write', 'writev', 'fstat', 'fchmod', 'futimes', 'ftruncate', 'fsync', 'fdatasync'].includes(name)) continue;
    promises[name] = (...rest) => told(() => { if (typeof rest[0] === 'object' && rest[0] instanceof FileHandle) rest[0] = rest[0].fd; return operation(...rest); });
  }
  function told(operation) {
    return new Promise((resolve, reject) => {
      let error, value, failed = false;
      try { value = operation(); } catch (caught) { error = caught; failed = true; }
      later(() => { if (failed) reject(error); else resolve(value); });
    });
  }
  fs.readvSync = sync.readv; fs.writevSync = sync.writev;
  const custom = Symbol.for('nodejs.util.promisify.custom');
  fs.existsSync = (path) => { try { return typeof native.stat(path_(path), true) !== 'number'; } catch { return false; } };
  fs.exists = (path, callback) => { const is = fs.existsSync(path); later(() => callback(is)); };
  Object.defineProperty(fs.exists, custom, { value: (path) => told(() => fs.existsSync(path)) });
  Object.defineProperty(fs.read, custom, { value: (fd, buffer, ...rest) => told(() => ({ bytesRead: sync.read(fd, buffer, ...rest), buffer })) });
  Object.defineProperty(fs.write, custom, { value: (fd, buffer, ...rest) => told(() => ({ bytesWritten: sync.write(fd, buffer, ...rest), buffer })) });
  fs.realpathSync = Object.assign((...rest) => sync.realpath(...rest), { native: (...rest) => sync.realpath(...rest) });
  fs.realpath.native = (...rest) => fs.realpath(...rest);

  class FileHandle extends EventEmitter {
    constructor(fd) { super(); Object.defineProperty(this, 'fd', { value: fd, writable: true, enumerable: true }); }
    close() { return told(() => { if (this.fd >= 0) { const fd = this.fd; this.fd = -1; sync.close(fd); this.emit('close'); } }); }
    read(buffer, ...rest) {
      if (buffer === undefined || (buffer !== null && typeof buffer === 'object' && !ArrayBuffer.isView(buffer))) { const options = buffer || {}; buffer = options.buffer || Buffer.alloc(16384); rest = [options.offset, options.length, options.position]; }
      return told(() => ({ bytesRead: sync.read(this.fd, buffer, ...rest), buffer }));
    }
    write(buffer, ...rest) { return told(() => ({ bytesWritten: sync.write(this.fd, buffer, ...rest), buffer })); }
    readFile(options) { return told(() => sync.readFile(this.fd, options)); }
    writeFile(data, options) { return told(() => sync.writeFile(this.fd, data, options)); }
    appendFile(data, options) { return told(() => sync.writeFile(this.fd, data, options)); }
    stat(options) { return told(() => sync.fstat(this.fd, options)); }
    truncate(size) { return told(() => sync.ftruncate(this.fd, size)); }
    chmod(mode) { return told(() => sync.fchmod(this.fd, mode)); }
    utimes(accessed, modified) { return told(() => sync.futimes(this.fd, accessed, modified)); }
    sync() { return told(() => sync.fsync(this.fd)); }
    datasync() { return told(() => sync.fdatasync(this.fd)); }
    readv(buffers, position) { return told(() => ({ bytesRead: sync.readv(this.fd, buffers, position), buffers })); }
    writev(buffers, position) { return told(() => ({ bytesWritten: sync.writev(this.fd, buffers, position), buffers })); }
    createReadStream(options) { return new ReadStream(null, { ...options, fd: this.fd }); }
    createWriteStream(options) { return new WriteStream(null, { ...options, fd: this.fd }); }
    async *readLines(options) { yield* internal.builtins.get('readline').createInterface({ input: this.createReadStream(options) }); }
    [Symbol.asyncDispose || Symbol.for('asyncDispose')]() { return this.close(); }
  }
  promises.open = (path, flags, mode) => told(() => new FileHandle(sync.open(path, flags, mode)));

  function ReadStream(path, options) {
    if (!(this instanceof ReadStream)) return new ReadStream(path, options);
    options = options_(options, {});
    let at = options.start, left = options.end === undefined || options.end === Infinity ? Infinity : options.end - (options.start || 0) + 1;
    Readable.call(this, {
      ...options,
      read(size) {
        if (this.fd === null) { this.once('open', () => { this._r.reading = false; this.resume(); this.read(0); }); return; }
        later(() => {
          if (this.destroyed) return;
          try {
            const bytes = left <= 0 ? new ArrayBuffer(0) : checked(native.read(this.fd, Math.min(size, left), at === undefined ? -1 : at), 'read');
            this.bytesRead += bytes.byteLength; left -= bytes.byteLength;
            if (at !== undefined) at += bytes.byteLength;
            this.push(bytes.byteLength === 0 ? null : Buffer.from(bytes));
          } catch (error) { this.destroy(error); }
        });
      },
    });
    this.path = path === null ? undefined : path; this.fd = options.fd === undefined || options.fd === null ? null : options.fd.fd === undefined ? options.fd : options.fd.fd; this.bytesRead = 0; this.flags = options.flags || 'r'; this.mode = options.mode === undefined ? 0o666 : options.mode;
    const closes = options.autoClose !== false && options.fd === undefined;
    this._destroy = (error, callback) => { if (closes && this.fd !== null) { const fd = this.fd; this.fd = null; native.close(fd); } callback(error); };
    if (this.fd === null) {
      const opened = path_(path);
      const answer = native.open(opened, flags_(options.flags), mode_(options.mode, 0o666));
      later(() => {
        if (answer < 0) { this.destroy(ofSystem(-answer, 'open', opened)); return; }
        this.fd = answer; this._r.reading = false; this.emit('open', answer); this.emit('ready');
      });
    }
    this.close = (callback) => this.destroy(null, callback);
  }
  Object.setPrototypeOf(ReadStream.prototype, Readable.prototype);
  function WriteStream(path, options) {
    if (!(this instanceof WriteStream)) return new WriteStream(path, options);
    options = options_(options, {});
    let at = options.start;
    Writable.call(this, {
      ...options,
      decodeStrings: true,
      write(chunk, encoding, callback) {
        const act = () => {
          try { const count = writeAll(this.fd, binary(chunk), true, at === undefined ? -1 : at); this.bytesWritten += count; if (at !== undefined) at += count; later(() => callback(null)); } catch (error) { later(() => callback(error)); }
        };
        if (this.fd === null) this.once('open', act); else act();
      },
      final(callback) { const act = () => later(() => callback()); if (this.fd === null && !this.destroyed) this.once('open', act); else act(); },
    });
    this.path = path === null ? undefined : path; this.fd = options.fd === undefined || options.fd === null ? null : options.fd.fd === undefined ? options.fd : options.fd.fd; this.bytesWritten = 0; this.flags = options.flags || 'w'; this.mode = options.mode === undefined ? 0o666 : options.mode;
    this._destroy = (error, callback) => { if (this.fd !== null && options.fd === undefined && options.autoClose !== false) { const fd = this.fd; this.fd = null; native.close(fd); } callback(error); };
    if (options.encoding) this.setDefaultEncoding(options.encoding);
    if (this.fd === null) {
      const opened = path_(path);
      const answer = native.open(opened, flags_(options.flags, 'w'), mode_(options.mode, 0o666));
      later(() => {
        if (answer < 0) { this.destroy(ofSystem(-answer, 'open', opened)); return; }
        this.fd = answer; this.emit('open', answer); this.emit('ready');
      });
    }
    this.close = (callback) => { if (callback) this.once('close', callback); return this.end(); };
  }
  Object.setPrototypeOf(WriteStream.prototype, Writable.prototype);
  Object.assign(fs, { promises, ReadStream, WriteStream, FileReadStream: ReadStream, FileWriteStream: WriteStream, createReadStream: (path, options) => new ReadStream(path, options), createWriteStream: (path, options) => new WriteStream(path, options) });
  for (const name of ['watch', 'watchFile', 'unwatchFile']) fs[name] = () => { throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', `The feature ${name} is unavailable on the current platform, which is being used to run Node.js`); };
  internal.fs = fs;
  internal.builtins.set('fs', fs);
  internal.builtins.set('fs/promises', promises);

  class Interface extends EventEmitter {
    constructor(options) {
      super();
      this.input = options.input; this.output = options.output; this.closed = false;
      let held = '';
      const decoder = new (internal.builtins.get('string_decoder').StringDecoder)('utf8');
      const lines = (text, isEnd) => {
        held += text;
        const all = held.split(/\r\n|\n|\r(?!$)/);
        held = all.pop();
        for (const line of all) this.emit('line', line);
        if (isEnd && held !== '') { const line = held; held = ''; this.emit('line', line); }
      };
      this.input.on('data', (chunk) => lines(decoder.write(chunk), false));
      this.input.on('end', () => { lines(decoder.end(), true); this.close(); });
      this.input.on('error', (error) => this.emit('error', error));
    }
    close() { if (!this.closed) { this.closed = true; this.input.pause(); this.emit('close'); } }
    pause() { this.input.pause(); return this; } resume() { this.input.resume(); return this; }
    write() {} setPrompt(text) { this._prompt = text; } prompt() { if (this.output) this.output.write(this._prompt || '> '); }
    question(text, options, callback) { if (typeof options === 'function') callback = options; if (this.output) this.output.write(text); this.once('line', callback); }
    async *[Symbol.asyncIterator]() {
      const waiting = []; let wake = null, over = this.closed;
      this.on('line', (line) => { waiting.push(line); if (wake) wake(); });
      this.on('close', () => { over = true; if (wake) wake(); });
      for (;;) { if (waiting.length > 0) { yield waiting.shift(); continue; } if (over) return; await new Promise((resolve) => { wake = resolve; }); wake = null; }
    }
  }
  const createInterface = (options, output) => new Interface(options && options.input ? options : { input: options, output });
  internal.builtins.set('readline', { Interface, createInterface, clearLine: () => true, cursorTo: () => true, moveCursor: () => true, emitKeypressEvents() {}, promises: { createInterface: (options) => { const made = createInterface(options); const ask = made.question.bind(made); made.question = (text) => new Promise((resolve) => { ask(text, resolve); }); return made; } } });
  internal.builtins.set('readline/promises', internal.builtins.get('readline').promises);
})
