import { bind, wholeNumber } from '../arguments.ts';
import { JinjaError, typeError } from '../errors.ts';
import { MAX_DIGITS } from '../limits.ts';
import { str } from './text.ts';
import { type CallArguments, floatValue, intValue, isFloat, numberOf, typeName } from './values.ts';

/** Jinja's filter `round`. @throws JinjaError */
export function round(value: unknown, args: CallArguments): unknown {
  const bound = bind('round', ['precision', 'method'], args, { precision: 0, method: 'common' });
  const precision = wholeNumber(bound.get('precision'));
  const number = numberOf(value);
  if (number === undefined) {
    throw typeError(`type ${typeName(value)} doesn't define __round__ method`);
  }
  const method = str(bound.get('method'));
  if (!['common', 'ceil', 'floor'].includes(method)) {
    throw new JinjaError('Runtime', 'method must be common, ceil or floor');
  }
  if (method === 'common') {
    if (!isFloat(value)) return precision >= 0 ? number : roundedInteger(number, -precision);
    return floatValue(roundHalfEven(Number(number), precision));
  }
  const factor = 10 ** precision;
  const scaled = Number(number) * factor;
  return floatValue((method === 'ceil' ? Math.ceil(scaled) : Math.floor(scaled)) / factor);
}

function roundedInteger(number: number | bigint, zeros: number): unknown {
  const step = 10n ** BigInt(Math.min(zeros, MAX_DIGITS));
  const [value, half] = [BigInt(number), step / 2n];
  const rest = ((value % step) + step) % step;
  const low = value - rest;
  const up = rest > half || (rest === half && (low / step) % 2n !== 0n);
  return intValue(up ? low + step : low);
}

/** Python's `round`: to even if the float is exactly halfway. */
function roundHalfEven(value: number, precision: number): number {
  if (!Number.isFinite(value) || precision > 15) return value;
  if (precision < 0) return Math.round(value / 10 ** -precision) * 10 ** -precision;
  const text = Math.abs(value).toFixed(Math.min(precision + 30, 100));
  const point = text.indexOf('.') + 1 + precision;
  const tail = text.slice(point);
  const half = /^50*$/.test(tail);
  const digits = BigInt(text.slice(0, point).replace('.', ''));
  const up = half ? digits % 2n === 1n : /^[5-9]/.test(tail);
  const whole = (up ? digits + 1n : digits).toString().padStart(precision + 1, '0');
  const cut = whole.length - precision;
  const rounded = Number(`${whole.slice(0, cut)}.${whole.slice(cut)}`);
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}
