// `util.parseArgs`: what the words behind a program's name say, as Node reads them.
(function (native, internal) {
  'use strict';
  const { coded, badArgument } = internal.errors;
  const hasOwn = Object.prototype.hasOwnProperty;
  const own = (object, key) => hasOwn.call(object, key);
  const wrong = (why) => coded(TypeError, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE', why);

  function checkOptions(options) {
    if (options === null || typeof options !== 'object' || Array.isArray(options)) throw badArgument('options', 'of type object', options);
    for (const [name, option] of Object.entries(options)) {
      const at = `options.${name}`;
      if (option === null || typeof option !== 'object' || Array.isArray(option)) throw badArgument(at, 'of type object', option);
      const { type, short, multiple, default: otherwise } = option;
      if (type !== 'string' && type !== 'boolean') throw badArgument(`${at}.type`, "('string|boolean')", type);
      if (own(option, 'short')) {
        if (typeof short !== 'string') throw badArgument(`${at}.short`, 'of type string', short);
        if (short.length !== 1) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The property '${at}.short' must be a single character. Received ${internal.inspect(short)}`);
      }
      if (own(option, 'multiple') && typeof multiple !== 'boolean') throw badArgument(`${at}.multiple`, 'of type boolean', multiple);
      if (otherwise === undefined) continue;
      if (multiple && !Array.isArray(otherwise)) throw badArgument(`${at}.default`, 'an instance of Array', otherwise);
      for (const [place, one] of (multiple ? otherwise : [otherwise]).entries()) if (typeof one !== type) throw badArgument(`${at}.default${multiple ? `[${place}]` : ''}`, `of type ${type}`, one);
    }
  }

  // The words in turn: options with what they are given, the end of them, and the rest.
  function tokensOf(args, options) {
    const left = [...args], tokens = [];
    let index = -1, ofGroup = 0;
    const takesText = (name) => own(options, name) && options[name].type === 'string';
    const longOf = (short) => (Object.entries(options).find(([, option]) => option.short === short) || [short])[0];
    const alone = (name, rawName) => {
      const value = takesText(name) && left.length > 0 ? left.shift() : undefined;
      tokens.push({ kind: 'option', name, rawName, index, value, inlineValue: value === undefined ? undefined : false });
      if (value !== undefined) index++;
    };
    while (left.length > 0) {
      const word = left.shift();
      if (ofGroup > 0) ofGroup--; else index++;
      if (word === '--') {
        tokens.push({ kind: 'option-terminator', index });
        for (const value of left) tokens.push({ kind: 'positional', index: ++index, value });
        break;
      }
      const isLong = word.startsWith('--'), equals = isLong ? word.indexOf('=', 3) : -1;
      if (word.length < 2 || word[0] !== '-') tokens.push({ kind: 'positional', index, value: word });
      else if (isLong && equals < 0) alone(word.slice(2), word);
      else if (isLong) tokens.push({ kind: 'option', name: word.slice(2, equals), rawName: word.slice(0, equals), index, value: word.slice(equals + 1), inlineValue: true });
      else if (word.length === 2) alone(longOf(word[1]), word);
      else if (takesText(longOf(word[1]))) tokens.push({ kind: 'option', name: longOf(word[1]), rawName: word.slice(0, 2), index, value: word.slice(2), inlineValue: true });
      else {
        // `-abc` is `-a -b -c`, up to one that takes a text.
        const letters = [...Array(word.length - 1).keys()].map((at) => at + 1);
        const last = letters.find((at) => takesText(longOf(word[at])));
        const group = letters.slice(0, last).map((at) => (at === last ? `-${word.slice(at)}` : `-${word[at]}`));
        left.unshift(...group);
        ofGroup = group.length;
      }
    }
    return tokens;
  }

  function checkToken(token, options, config) {
    const { name, rawName, value } = token;
    const isNegative = config.allowNegative && name.startsWith('no-') && !own(options, name);
    const named = isNegative ? name.slice(3) : name;
    if (!own(options, named) || (isNegative && options[named].type !== 'boolean')) throw coded(TypeError, 'ERR_PARSE_ARGS_UNKNOWN_OPTION', `Unknown option '${rawName}'${config.allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(rawName)}` : ''}`);
    const { short, type } = options[named], both = `${short ? `-${short}, ` : ''}--${named}`;
    if (type === 'string' && typeof value !== 'string') throw wrong(`Option '${both} <value>' argument missing`);
    if (type === 'boolean' && value !== undefined) throw wrong(`Option '${both}' does not take an argument`);
    if (token.inlineValue === false && value.length > 1 && value[0] === '-') throw wrong(`Option '${rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${rawName}'?\nTo specify an option argument starting with a dash use ${rawName.startsWith('--') ? `'${rawName}=-XYZ'` : `'--${name}=-XYZ' or '${rawName}-XYZ'`}.`);
  }

  function store(values, options, name, value, isNegatable) {
    if (isNegatable && name.startsWith('no-') && value === undefined && !own(options, name)) { name = name.slice(3); value = false; }
    if (name === '__proto__') return;
    if (value === undefined) value = true;
    if (own(options, name) && options[name].multiple) { if (values[name]) values[name].push(value); else values[name] = [value]; }
    else values[name] = value;
  }

  function parseArgs(given = {}) {
    const config = { args: internal.builtins.get('process').argv.slice(2), options: {}, strict: true, tokens: false, allowNegative: false, ...given };
    if (!own(config, 'allowPositionals')) config.allowPositionals = !config.strict;
    const { args, options } = config;
    if (!Array.isArray(args)) throw badArgument('args', 'an instance of Array', args);
    for (const name of ['strict', 'allowPositionals', 'tokens', 'allowNegative']) if (typeof config[name] !== 'boolean') throw badArgument(name, 'of type boolean', config[name]);
    checkOptions(options);
    const tokens = tokensOf(args, options), result = { values: Object.create(null), positionals: [] };
    for (const token of tokens) {
      if (token.kind === 'option') {
        if (config.strict) checkToken(token, options, config);
        store(result.values, options, token.name, token.value, config.allowNegative);
      } else if (token.kind === 'positional') {
        if (!config.allowPositionals) throw coded(TypeError, 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL', `Unexpected argument '${token.value}'. This command does not take positional arguments`);
        result.positionals.push(token.value);
      }
    }
    for (const [name, option] of Object.entries(options)) if (option.default !== undefined && result.values[name] === undefined && name !== '__proto__') result.values[name] = option.default;
    if (config.tokens) result.tokens = tokens;
    return result;
  }
  internal.builtins.get('util').parseArgs = parseArgs;
})
