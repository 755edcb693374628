/**
 * A number in one of the forms of Python's `format` and `%`: `d`, `b`, `o`, `x`, `X`, `e`, `E`,
 * `f`, `F`, `g`, `G`, `%`, `n`, `c`. `precision` is 6 by default.
 */
export function formatNumber(
  value: number | bigint,
  kind: string,
  precision: number | undefined,
  alternate = false,
): string {
  const digits = Math.min(precision ?? 6, 100);
  const number = Number(value);
  switch (kind) {
    case 'c':
      return String.fromCodePoint(Number(whole(value)));
    case 'd':
    case 'n':
      return whole(value).toString();
    case 'b':
      return based(whole(value), 2, alternate ? '0b' : '');
    case 'o':
      return based(whole(value), 8, alternate ? '0o' : '');
    case 'x':
      return based(whole(value), 16, alternate ? '0x' : '');
    case 'X':
      return based(whole(value), 16, alternate ? '0X' : '').toUpperCase();
    case 'e':
    case 'E':
      return cased(exponent(number, digits), kind);
    case 'f':
    case 'F':
      return special(number) ?? fixed(number, digits);
    case '%':
      return `${special(number) ?? fixed(number * 100, digits)}%`;
    default:
      return cased(general(number, digits === 0 ? 1 : digits, alternate), kind);
  }
}

function whole(value: number | bigint): bigint {
  return typeof value === 'bigint' ? value : BigInt(Math.trunc(value));
}

function based(value: bigint, base: number, prefix: string): string {
  const text = value.toString(base);
  return text.startsWith('-') ? `-${prefix}${text.slice(1)}` : prefix + text;
}

function cased(text: string, kind: string): string {
  return kind === kind.toUpperCase() ? text.toUpperCase() : text;
}

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return 'nan';
  if (Number.isFinite(value)) return undefined;
  return value > 0 ? 'inf' : '-inf';
}

function fixed(value: number, digits: number): string {
  // JavaScript leaves toFixed at 1e21; above that every float is whole.
  const text = Math.abs(value) < 1e21 ? halfEven(value, digits) : `${BigInt(value)}`;
  const full = text.includes('.') || digits === 0 ? text : `${text}.${'0'.repeat(digits)}`;
  return Object.is(value, -0) ? `-${full}` : full;
}

/** JavaScript rounds a float that lies exactly between up, Python to even. */
function halfEven(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const exact = Math.abs(value).toFixed(Math.min(digits + 30, 100));
  const tail = exact.slice(exact.indexOf('.') + 1 + digits);
  const cut = exact.slice(0, exact.length - tail.length).replace(/\.$/, '');
  if (!/^50*$/.test(tail) || !/[02468]$/.test(cut)) return text;
  return value < 0 ? `-${cut}` : cut;
}

function exponent(value: number, digits: number): string {
  const text = special(value) ?? value.toExponential(digits);
  return text.replace(/e([-+])(\d)$/, 'e$10$2');
}

function general(value: number, digits: number, alternate: boolean): string {
  const odd = special(value);
  if (odd !== undefined) return odd;
  const power = value === 0 ? 0 : Number(value.toExponential(digits - 1).split('e')[1]);
  const plain = power >= -4 && power < digits;
  const text = plain ? fixed(value, Math.max(digits - 1 - power, 0)) : exponent(value, digits - 1);
  if (alternate || !text.includes('.')) return text;
  return text.replace(/\.?0+(?=e|$)/, '');
}
