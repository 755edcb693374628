import { integerOf, sexagesimal } from './numbers.ts';

/** What an unquoted YAML 1.1 scalar means; dates are told from text so that dumps quote them. */
export type PlainMeaning =
  | { readonly kind: 'str' | 'timestamp' | 'merge' | 'value' }
  | { readonly kind: 'null' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number };

const STR: PlainMeaning = { kind: 'str' };
const MAX_DIGITS = 4300;

/** What texts begin with that are not only text. */
const FIRST = /^[-+.0-9<=yYnNtTfFoO]/;

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
    // No number has underscores alone: PyYAML takes those for one, and then fails.
    '^(?:[-+]?0b_*[0-1][0-1_]*',
    '[-+]?0_*[0-7][0-7_]*',
    '[-+]?(?:0|[1-9][0-9_]*)',
    '[-+]?0x_*[0-9a-fA-F][0-9a-fA-F_]*',
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
  if (!FIRST.test(text)) return STR;
  if (BOOL.test(text)) return { kind: 'bool', value: /^(?:y|t|on)/i.test(text) };
  // Python's own bound for the digits of a number (sys.set_int_max_str_digits).
  if (text.length > MAX_DIGITS) return STR;
  if (FLOAT.test(text)) return { kind: 'float', value: floatOf(text) };
  if (INT.test(text)) return { kind: 'int', value: integerOf(text) };
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
  else if (body.includes(':')) value = sexagesimal(body.split(':'));
  else value = Number(body);
  return negative ? -value : value;
}
