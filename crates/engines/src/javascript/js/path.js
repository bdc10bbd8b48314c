// `path`: of POSIX, since there is no other kind of file system here.
(function (native, internal) {
  'use strict';
  const { badArgument } = internal.errors;
  function check(value, name) { if (typeof value !== 'string') throw badArgument(name, 'of type string', value); }

  function parts(path, absolute) {
    const kept = [];
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (part === '..' && kept.length > 0 && kept[kept.length - 1] !== '..') kept.pop();
      else if (part !== '..' || !absolute) kept.push(part);
    }
    return kept.join('/');
  }

  const posix = {
    sep: '/',
    delimiter: ':',
    normalize(path) {
      check(path, 'path');
      if (path === '') return '.';
      const absolute = path[0] === '/';
      let normal = parts(path, absolute);
      if (normal === '') return absolute ? '/' : path.endsWith('/') ? './' : '.';
      if (path.endsWith('/')) normal += '/';
      return absolute ? `/${normal}` : normal;
    },
    isAbsolute(path) { check(path, 'path'); return path[0] === '/'; },
    join(...all) {
      for (const one of all) check(one, 'path');
      const joined = all.filter((one) => one !== '').join('/');
      return joined === '' ? '.' : posix.normalize(joined);
    },
    resolve(...all) {
      let path = '';
      for (let at = all.length - 1; at >= -1 && path[0] !== '/'; at--) {
        const one = at >= 0 ? all[at] : internal.cwd();
        check(one, `paths[${at}]`);
        if (one !== '') path = path === '' ? one : `${one}/${path}`;
      }
      const absolute = path[0] === '/';
      const normal = parts(path, absolute);
      return absolute ? `/${normal}` : normal || '.';
    },
    relative(from, to) {
      check(from, 'from'); check(to, 'to');
      if (from === to) return '';
      const one = posix.resolve(from).split('/').filter(Boolean);
      const other = posix.resolve(to).split('/').filter(Boolean);
      let same = 0;
      while (same < one.length && same < other.length && one[same] === other[same]) same++;
      return [...one.slice(same).map(() => '..'), ...other.slice(same)].join('/');
    },
    toNamespacedPath(path) { return path; },
    dirname(path) {
      check(path, 'path');
      if (path === '') return '.';
      let end = path.length;
      while (end > 1 && path[end - 1] === '/') end--;
      const slash = path.lastIndexOf('/', end - 1);
      if (slash < 0) return '.';
      if (slash === 0) return end > 1 || path.length > 1 ? (path.startsWith('//') && end === 1 ? '/' : '/') : '/';
      end = slash;
      return path.slice(0, end);
    },
    basename(path, suffix) {
      check(path, 'path');
      if (suffix !== undefined) check(suffix, 'suffix');
      let end = path.length;
      while (end > 0 && path[end - 1] === '/') end--;
      const base = path.slice(path.lastIndexOf('/', end - 1) + 1, end);
      return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
    },
    extname(path) {
      const base = posix.basename(path);
      const dot = base.lastIndexOf('.');
      return dot <= 0 || base === '..' ? '' : base.slice(dot);
    },
    parse(path) {
      check(path, 'path');
      const root = path[0] === '/' ? '/' : '';
      const base = posix.basename(path);
      const ext = posix.extname(path);
      let dir = posix.dirname(path);
      if (dir === '.' && !path.startsWith('./')) dir = root;
      return { root, dir: base === '' && root ? root : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
    },
    format(parsed) {
      if (parsed === null || typeof parsed !== 'object') throw badArgument('pathObject', 'of type object', parsed);
      const dir = parsed.dir || parsed.root;
      const ext = parsed.ext ? (parsed.ext[0] === '.' ? '' : '.') + parsed.ext : '';
      const base = parsed.base || `${parsed.name || ''}${ext}`;
      if (!dir) return base;
      return dir === parsed.root ? `${dir}${base}` : `${dir}/${base}`;
    },
    matchesGlob: undefined,
  };
  delete posix.matchesGlob;
  posix.posix = posix;
  posix.win32 = posix;
  internal.path = posix;
  internal.cwd = () => native.workingDirectory();
  internal.builtins.set('path', posix);
  internal.builtins.set('path/posix', posix);
})
