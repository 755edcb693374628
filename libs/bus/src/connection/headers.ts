import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import { encodedHeaders, headerBytes } from './client-internals.ts';
import { BusError } from './errors.ts';

const VERSION_LINE = 'NATS/1.0\r\n';

/**
 * Headers for a publish, written as one text. The client's own object compares each new name with
 * all others in every spelling, 2 µs a header, and does so again when it reads.
 * @throws BusError `BUS_BAD_MESSAGE` for a line end in a value.
 */
export function writeHeaders(lines: readonly (readonly [name: string, value: string])[]): MsgHdrs {
  let text = VERSION_LINE;
  for (const [name, value] of lines) {
    if (/[\r\n]/.test(value)) throw new BusError('BUS_BAD_MESSAGE', `a line end in ${name}`);
    text += `${name}: ${value}\r\n`;
  }
  return encodedHeaders(Buffer.from(`${text}\r\n`, 'utf8'));
}

/**
 * Finds headers by their exact name, without parsing the rest. Empty for a header that is not
 * there.
 */
export function headersOf(msg: Msg): (name: string) => string {
  const bytes = headerBytes(msg);
  if (bytes === undefined) return (name) => msg.headers?.get(name) ?? '';
  if (bytes.length === 0) return () => '';
  let find: ((name: string) => string) | undefined;
  return (name) => {
    find ??= headersIn(bytes.toString('utf8'));
    return find(name);
  };
}

/** The headers of a message as they came, empty where it has none. */
export function headerText(msg: Msg): string {
  const bytes = headerBytes(msg);
  if (bytes !== undefined) return bytes.toString('utf8');
  const lines = [...(msg.headers ?? [])].flatMap(([name, values]) =>
    values.map((value) => `${name}: ${value}\r\n`),
  );
  return `${VERSION_LINE}${lines.join('')}\r\n`;
}

/** As {@link headersOf}, in the text of {@link headerText}. */
export function headersIn(text: string): (name: string) => string {
  return (name) => {
    const line = `\r\n${name}:`;
    const at = text.indexOf(line);
    if (at < 0) return '';
    return text.slice(at + line.length, text.indexOf('\r\n', at + line.length)).trim();
  };
}
