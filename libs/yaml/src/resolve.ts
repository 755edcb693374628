/** What an unquoted YAML 1.1 scalar means; dates are told from text so that dumps quote them. */
export type PlainMeaning =
  | { readonly kind: 'str' | 'timestamp' | 'merge' | 'value' }
  | { readonly kind: 'null' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number };

const STR: PlainMeaning = { kind: 'str' };
const MAX_DIGITS = 4300;

// The patterns of PyYAML's resolver (PyYAML: lib/yaml/resolver.py).
const BOOL = /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/;
const FLOAT = new RegExp(
  [
    '^(?:[-+]?(?:[0-9][0-9_]*)\\.[0-9_]*(?:[eE][-+][0-9]+)?',
    '\\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?',
    '[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\\.[0-9_]*',
    '[-+]?\\.(?:inf|Inf|INF)',
    '\\.(?:nan|NaN|NAN))$',
  ].join('|'),
);
const INT = new RegExp(
  [
    '^(?:[-+]?0b[0-1_]+',
    '[-+]?0[0-7_]+',
    '[-+]?(?:0|[1-9][0-9_]*)',
    '[-+]?0x[0-9a-fA-F_]+',
    '[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$',
  ].join('|'),
);
const TIMESTAMP = new RegExp(
  '^(?:\\d{4}-\\d{2}-\\d{2}|\\d{4}-\\d{1,2}-\\d{1,2}(?:[Tt]|[ \\t]+)\\d{1,2}' +
    ':\\d{2}:\\d{2}(?:\\.\\d*)?(?:[ \\t]*(?:Z|[-+]\\d{1,2}(?::\\d{2})?))?)$',
);

/** What PyYAML's resolver makes of an unquoted scalar. */
export function resolvePlain(text: string): PlainMeaning {
  if (text === '' || text === '~' || text === 'null' || text === 'Null' || text === 'NULL') {
    return { kind: 'null' };
  }
  if (BOOL.test(text)) return { kind: 'bool', value: /^(?:y|t|on)/i.test(text) };
  // Python's own bound for the digits of a number (sys.set_int_max_str_digits).
  if (text.length > MAX_DIGITS) return STR;
  if (FLOAT.test(text)) return { kind: 'float', value: floatOf(text) };
  if (INT.test(text)) return { kind: 'int', value: intOfText(text) };
  if (TIMESTAMP.test(text)) return { kind: 'timestamp' };
  if (text === '<<') return { kind: 'merge' };
  return text === '=' ? { kind: 'value' } : STR;
}

function floatOf(text: string): number {
  const plain = text.replaceAll('_', '').toLowerCase();
  const negative = plain.startsWith('-');
  const body = plain.replace(/^[-+]/, '');
  let value: number;
  if (body === '.inf') value = Number.POSITIVE_INFINITY;
  else if (body === '.nan') value = Number.NaN;
  else if (body.includes(':')) value = sexagesimal(body);
  else value = Number(body);
  return negative ? -value : value;
}

function sexagesimal(body: string): number {
  return body.split(':').reduce((sum, digits) => sum * 60 + Number(digits), 0);
}

/**
 * The integer in a text that the pattern above took. A leading zero is decimal, not octal, as
 * Salt has it (Salt: salt/utils/yamlloader.py construct_scalar).
 */
function intOfText(text: string): bigint {
  const plain = text.replaceAll('_', '');
  const negative = plain.startsWith('-');
  const body = plain.replace(/^[-+]/, '');
  let value: bigint;
  if (/^0b/.test(body)) value = BigInt(body === '0b' ? 0 : body);
  else if (/^0x/.test(body)) value = BigInt(body === '0x' ? 0 : body);
  else if (body.includes(':')) {
    value = body.split(':').reduce((sum, digits) => sum * 60n + BigInt(digits), 0n);
  } else if (/^[-+]/.test(plain) && /^0[0-7]+$/.test(body)) {
    // Behind a sign the zero is not seen by Salt's rule: octal, as PyYAML has it.
    value = BigInt(`0o${body.slice(1)}`);
  } else value = BigInt(body === '' ? 0 : body);
  return negative ? -value : value;
}
