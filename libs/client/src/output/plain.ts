import { isMap, type SaltValue } from '@brine/wire';
import { pyRepr, pyStr, sortedValues, splitLines, stripEscapes } from '@brine/wire/text';
import { type Colors, colorsOf } from './colors.ts';
import { type OutputContext, UnfitDataError } from './outputter.ts';
import { prettyFormat } from './pretty-format.ts';

/** `<id>: <line>` for each line of a text (Salt: salt/output/txt.py). */
export function textOutput(data: SaltValue): string {
  if (!isMap(data)) {
    return typeof data === 'string' ? `${data}\n` : `${prettyFormat(data)}\n`;
  }
  let text = '';
  for (const [key, value] of data) {
    const lines =
      typeof value === 'string' ? splitLines(value) : [byteLines(value) ?? pyRepr(value)].flat();
    for (const line of lines) text += `${pyStr(key)}: ${line}\n`;
  }
  return text;
}

/** Python's bytes have splitlines too: one repr per line. */
function byteLines(value: SaltValue): string[] | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const text = Buffer.from(value).toString('latin1');
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => pyRepr(new Uint8Array(Buffer.from(line, 'latin1'))));
}

/** Python's repr of the whole (Salt: salt/output/raw.py). */
export function rawOutput(data: SaltValue): string {
  return pyStr(data);
}

/** Python's pprint (Salt: salt/output/pprint_out.py). */
export function pprintOutput(data: SaltValue, context: OutputContext): string {
  const indent = context.indent;
  return typeof indent === 'number' && indent >= 0
    ? prettyFormat(data, indent)
    : prettyFormat(data);
}

/** Minions that did not return (Salt: salt/output/no_return.py). */
export function noReturnOutput(data: SaltValue, context: OutputContext): string {
  return noReturn(data, 0, colorsOf(context.color));
}

function noReturn(value: SaltValue, indent: number, colors: Colors): string {
  const before = ' '.repeat(indent);
  if (typeof value === 'string') {
    return value
      .split('\n')
      .map((line) => `${colors.red}${before}${line}${colors.end}\n`)
      .join('');
  }
  if (!isMap(value)) return '';
  const keys = sortedValues(value.keys());
  if (keys === undefined) throw new UnfitDataError('TypeError', 'keys of several types');
  return keys
    .map((key) => {
      const head = `${colors.cyan}${before}${pyStr(key)}${colors.end}:\n`;
      return head + noReturn(value.get(key) ?? null, indent + 4, colors);
    })
    .join('');
}

type Section = readonly [title: string, titleColor: keyof Colors, color: keyof Colors];

const KEY_SECTIONS: ReadonlyMap<string, Section> = new Map<string, Section>([
  ['minions', ['Accepted Keys:', 'lightGreen', 'green']],
  ['minions_denied', ['Denied Keys:', 'lightMagenta', 'magenta']],
  ['minions_pre', ['Unaccepted Keys:', 'lightRed', 'red']],
  ['minions_rejected', ['Rejected Keys:', 'lightBlue', 'blue']],
  ['local', ['Local Keys:', 'lightMagenta', 'magenta']],
]);

/** The sections of salt-key (Salt: salt/output/key.py). */
export function keyOutput(data: SaltValue, context: OutputContext): string {
  if (!isMap(data)) throw new UnfitDataError('TypeError', 'no sections of keys');
  const colors = colorsOf(context.color);
  const lines: string[] = [];
  for (const status of sortedValues(data.keys()) ?? []) {
    const section = typeof status === 'string' ? KEY_SECTIONS.get(status) : undefined;
    if (section === undefined) throw new UnfitDataError('KeyError', pyRepr(status));
    const [title, titleColor, color] = section;
    lines.push(`${colors[titleColor]}${title}${colors.end}`);
    const keys = data.get(status) ?? null;
    if (Array.isArray(keys)) {
      for (const key of sortedValues(keys) ?? []) {
        lines.push(`${colors[color]}${stripEscapes(pyStr(key))}${colors.end}`);
      }
    } else if (isMap(keys)) {
      for (const key of sortedValues(keys.keys()) ?? []) {
        const name = stripEscapes(pyStr(key));
        const value = pyStr(keys.get(key) ?? null);
        lines.push(`${colors[color]}${name}:  ${value}${colors.end}`);
      }
    } else {
      throw new UnfitDataError('TypeError', 'a section is no list of keys');
    }
  }
  return lines.join('\n');
}
