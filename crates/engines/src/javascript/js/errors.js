// Errors as Node has them: with a code, and of a failed operation on a file with its name, its number and its paths.
(function (native, internal) {
  'use strict';
  // Held before the program runs: what it does to prototypes later changes nothing here.
  const messages = {
    1: ['EPERM', 'operation not permitted'], 2: ['ENOENT', 'no such file or directory'],
    4: ['EINTR', 'interrupted system call'], 5: ['EIO', 'i/o error'],
    6: ['ENXIO', 'no such device or address'], 9: ['EBADF', 'bad file descriptor'],
    11: ['EAGAIN', 'resource temporarily unavailable'], 12: ['ENOMEM', 'not enough memory'],
    13: ['EACCES', 'permission denied'], 16: ['EBUSY', 'resource busy or locked'],
    17: ['EEXIST', 'file already exists'], 18: ['EXDEV', 'cross-device link not permitted'],
    20: ['ENOTDIR', 'not a directory'], 21: ['EISDIR', 'illegal operation on a directory'],
    22: ['EINVAL', 'invalid argument'], 23: ['ENFILE', 'file table overflow'],
    24: ['EMFILE', 'too many open files'], 26: ['ETXTBSY', 'text file is busy'],
    27: ['EFBIG', 'file too large'], 28: ['ENOSPC', 'no space left on device'],
    29: ['ESPIPE', 'invalid seek'], 30: ['EROFS', 'read-only file system'],
    31: ['EMLINK', 'too many links'], 32: ['EPIPE', 'broken pipe'],
    36: ['ENAMETOOLONG', 'name too long'], 39: ['ENOTEMPTY', 'directory not empty'],
    40: ['ELOOP', 'too many symbolic links encountered'], 61: ['ENODATA', 'no data available'],
    75: ['EOVERFLOW', 'value too large for defined data type'], 95: ['ENOTSUP', 'operation not supported on socket'],
    116: ['ESTALE', 'stale file handle'], 122: ['EDQUOT', 'disk quota exceeded'],
  };

  function ofSystem(number, syscall, path, dest) {
    const [code, text] = messages[number] || [`E${number}`, 'unknown error'];
    let message = `${code}: ${text}, ${syscall}`;
    if (path !== undefined) message += ` '${path}'`;
    if (dest !== undefined) message += ` -> '${dest}'`;
    const error = new Error(message);
    error.errno = -number;
    error.code = code;
    error.syscall = syscall;
    if (path !== undefined) error.path = path;
    if (dest !== undefined) error.dest = dest;
    return error;
  }

  // What an operation answers: its value, or an error for a negative number.
  function checked(answer, syscall, path, dest) {
    // The program's time is over (`ETIME`): the engine ends it as soon as it has counted some steps.
    if (answer === -62) for (;;);
    if (typeof answer === 'number' && answer < 0) throw ofSystem(-answer, syscall, path, dest);
    return answer;
  }

  function coded(Base, code, message) {
    const error = new Base(message);
    error.code = code;
    const name = error.name;
    // As Node prints them: with the code behind the name.
    Object.defineProperty(error, 'stack', {
      value: `${name} [${code}]: ${message}\n${error.stack || ''}`.trimEnd(),
      configurable: true, writable: true, enumerable: false,
    });
    return error;
  }

  function described(value) {
    if (value === null || value === undefined) return ` Received ${value}`;
    if (typeof value === 'function') return ` Received function ${value.name}`;
    if (typeof value === 'object') {
      const name = value.constructor && value.constructor.name;
      return name ? ` Received an instance of ${name}` : ' Received an object';
    }
    let text = typeof value === 'string' ? `'${value}'` : String(value);
    if (text.length > 28) text = `${text.slice(0, 25)}...${typeof value === 'string' ? "'" : ''}`;
    return ` Received type ${typeof value} (${text})`;
  }

  function badArgument(name, expected, value) {
    const what = name.includes('.') ? 'property' : 'argument';
    return coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" ${what} must be ${expected}.${described(value)}`);
  }

  function outOfRange(name, range, value) {
    const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : described(value);
    return coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${text}`);
  }

  // How many characters stand before the first line of a file, where it was compiled as part of something else.
  internal.columnsBefore = new Map();
  // The engine's stacks begin with their first call, and Node's with what went wrong.
  Error.prepareStackTrace = (error, calls) => {
    let header = 'Error';
    try { header = Error.prototype.toString.call(error); } catch { /* it says nothing of itself */ }
    let text = header;
    for (const call of calls) {
      const name = call.getFunctionName(), file = call.getFileName(), line = call.getLineNumber();
      const before = line === 1 ? internal.columnsBefore.get(file) || 0 : 0;
      const where = call.isNative() ? 'native' : `${file}:${line}:${call.getColumnNumber() - before}`;
      text += name ? `\n    at ${name} (${where})` : `\n    at ${where}`;
    }
    return text;
  };

  internal.errors = { ofSystem, checked, coded, described, badArgument, outOfRange, messages };
  internal.builtins = new Map();
  internal.hooks = {};
})
