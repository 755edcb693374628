import type { SaltValue } from '../value.ts';
import { SaltConstant, SaltDatetime, SaltFloat, SaltTuple } from '../value.ts';

/** Characters that Python's str.isprintable refuses, apart from the space. */
const NOT_PRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/u;
/** Most texts have nothing to escape. */
const PLAIN_TEXT = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/;

/** A value as Python's `repr` writes it. */
export function pyRepr(value: SaltValue): string {
  if (value === null) return 'None';
  switch (typeof value) {
    case 'boolean':
      return value ? 'True' : 'False';
    case 'bigint':
      return value.toString();
    case 'number':
      return Number.isSafeInteger(value) ? String(value) : pyFloat(value);
    case 'string':
      return textRepr(value);
    default:
      return objectRepr(value);
  }
}

function objectRepr(value: Exclude<SaltValue & object, null>): string {
  if (Array.isArray(value)) {
    const [open, close] = pyBrackets(value);
    return `${open}${value.map(pyRepr).join(', ')}${close}`;
  }
  if (value instanceof Map) {
    const entries = [...value].map(([key, item]) => `${pyRepr(key)}: ${pyRepr(item)}`);
    return `{${entries.join(', ')}}`;
  }
  if (value instanceof SaltFloat) return pyFloat(value.value);
  if (value instanceof SaltDatetime) return datetimeRepr(value.text);
  // Salt: salt/defaults/_Constant.__repr__ is not given, so the type's own form is kept short.
  if (value instanceof SaltConstant) return `<Constant.${value.name}>`;
  return bytesRepr(value);
}

/** The brackets of a list: a tuple of one item has a comma before its end. */
export function pyBrackets(list: readonly SaltValue[]): readonly [open: string, close: string] {
  if (!(list instanceof SaltTuple)) return ['[', ']'];
  return ['(', list.length === 1 ? ',)' : ')'];
}

/** A float as Python writes it: always with a point or an exponent, `1e+16`, `nan`, `inf`. */
export function pyFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [digits = '', exponentText = '0'] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  // Python's repr uses the exponent below 1e-4 and from 1e16 on, with at least two digits.
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    const sign = exponent < 0 ? '-' : '+';
    return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  const plain = exponent < -6 ? value.toFixed(-exponent) : String(value);
  return plain.includes('.') ? plain : `${plain}.0`;
}

function textRepr(text: string): string {
  if (PLAIN_TEXT.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const character of text) out += textEscape(character, quote);
  return out + quote;
}

function textEscape(character: string, quote: string): string {
  if (character === quote || character === '\\') return `\\${character}`;
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  if (character === ' ' || !NOT_PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code <= 0xff) return `\\x${hex(code, 2)}`;
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function bytesRepr(bytes: Uint8Array): string {
  const hasSingle = bytes.includes(0x27);
  const quote = hasSingle && !bytes.includes(0x22) ? '"' : "'";
  let out = `b${quote}`;
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    if (character === quote || character === '\\') out += `\\${character}`;
    else if (character === '\n') out += '\\n';
    else if (character === '\r') out += '\\r';
    else if (character === '\t') out += '\\t';
    else out += byte >= 0x20 && byte < 0x7f ? character : `\\x${hex(byte, 2)}`;
  }
  return out + quote;
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, '0');
}

function datetimeRepr(text: string): string {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{1,6})$/.exec(text);
  if (parts === null) return textRepr(text);
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number);
  const micros = Number((parts[7] ?? '').padEnd(6, '0'));
  const fields = [year, month, day, hour, minute];
  if (second !== 0 || micros !== 0) fields.push(second);
  if (micros !== 0) fields.push(micros);
  return `datetime.datetime(${fields.join(', ')})`;
}
