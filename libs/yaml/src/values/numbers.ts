import { pyRepr } from '@brine/wire/text';
import { YamlLoadError } from '../errors.ts';

/** Python's own bound for the digits of a number (sys.set_int_max_str_digits). */
export const DIGITS_MAX = 4300;

/** The value of base 60 digits. */
export function sexagesimal(parts: readonly string[]): number {
  return parts.reduce((sum, digits) => sum * 60 + Number(digits), 0);
}

/**
 * The integer that PyYAML reads in a text (lib/yaml/constructor.py construct_yaml_int). A leading
 * zero is decimal, but not behind a sign (Salt: salt/utils/yamlloader.py construct_scalar).
 * @throws YamlLoadError with Python's text
 */
export function integerOf(text: string): bigint {
  const isZeros = text.startsWith('0') && !text.startsWith('0b') && !text.startsWith('0x');
  const plain = (isZeros ? text.replace(/^0+/, '') || '0' : text).replaceAll('_', '');
  const body = plain.replace(/^[-+]/, '');
  if (body === '') throw new YamlLoadError('string index out of range');
  // Python limits only decimal digits; long base 60 numbers would take unbounded time.
  if (body.length > DIGITS_MAX) {
    throw new YamlLoadError(
      `Exceeds the limit (${DIGITS_MAX} digits) for integer string conversion: value has ` +
        `${body.length} digits; use sys.set_int_max_str_digits() to increase the limit`,
    );
  }
  const value = unsigned(body);
  return plain.startsWith('-') ? -value : value;
}

function unsigned(body: string): bigint {
  if (body.startsWith('0b')) return digitsOf(body.slice(2), 2);
  if (body.startsWith('0x')) return digitsOf(body.slice(2), 16);
  if (body.startsWith('0')) return digitsOf(body, 8);
  return body.split(':').reduce((sum, digits) => sum * 60n + digitsOf(digits, 10), 0n);
}

const BASES = {
  2: { sign: '0b', digits: /^[01]+$/ },
  8: { sign: '0o', digits: /^[0-7]+$/ },
  10: { sign: '', digits: /^[0-9]+$/ },
  16: { sign: '0x', digits: /^[0-9a-f]+$/i },
} as const;

function digitsOf(digits: string, base: keyof typeof BASES): bigint {
  const { sign, digits: form } = BASES[base];
  if (form.test(digits)) return BigInt(sign + digits);
  throw new YamlLoadError(`invalid literal for int() with base ${base}: ${pyRepr(digits)}`);
}
