import { DIGITS_MAX, integerOf, sexagesimal } from './numbers.ts';

/** The type of an unquoted YAML 1.1 scalar. Dates are a separate type: dumps quote them. */
export type PlainMeaning =
  | { readonly kind: 'str' | 'timestamp' | 'merge' | 'value' }
  | { readonly kind: 'null' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number };

const STR: PlainMeaning = { kind: 'str' };

/** First characters of scalars that may be more than text. */
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
    // A number needs a digit: PyYAML accepts underscores alone, and then fails.
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

/** The kind of an unquoted scalar, as in PyYAML's resolver. */
export function plainKind(text: string): PlainMeaning['kind'] {
  if (text === '' || text === '~' || text === 'null' || text === 'Null' || text === 'NULL') {
    return 'null';
  }
  if (!FIRST.test(text)) return 'str';
  if (BOOL.test(text)) return 'bool';
  if (FLOAT.test(text)) return 'float';
  if (INT.test(text)) return 'int';
  if (TIMESTAMP.test(text)) return 'timestamp';
  if (text === '<<') return 'merge';
  return text === '=' ? 'value' : 'str';
}

/** The type of an unquoted scalar in Salt's commands; a number that Python refuses is text. */
export function resolvePlain(text: string): PlainMeaning {
  const kind = plainKind(text);
  switch (kind) {
    case 'bool':
      return { kind, value: /^(?:y|t|on)/i.test(text) };
    case 'float':
      return { kind, value: floatOf(text) };
    case 'int':
      return text.length > DIGITS_MAX ? STR : { kind, value: integerOf(text) };
    default:
      return { kind };
  }
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
