import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import { BusError } from './errors.ts';

const VERSION_LINE = 'NATS/1.0\r\n';

/** Where the client keeps the bytes of a message that it has not taken apart yet. */
interface UnreadMsg {
  readonly _rdata?: Uint8Array;
  readonly _msg?: { readonly hdr: number };
}

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
  const encoded = Buffer.from(`${text}\r\n`, 'utf8');
  // All that the client asks of headers that it is to publish.
  return { encode: () => encoded } as Partial<MsgHdrs> as MsgHdrs;
}

/**
 * Finds headers by their exact name in the bytes of a message, without taking apart the rest; an
 * empty text where there is none.
 */
export function headersOf(msg: Msg): (name: string) => string {
  const { _rdata: bytes, _msg: parsed } = msg as UnreadMsg;
  if (bytes === undefined || parsed === undefined) {
    return (name) => msg.headers?.get(name) ?? ''; // another release of the client
  }
  if (parsed.hdr <= 0) return () => '';
  let find: ((name: string) => string) | undefined;
  return (name) => {
    find ??= headersIn(textOf(bytes, parsed.hdr));
    return find(name);
  };
}

/** The headers of a message as they came, empty where it has none. */
export function headerText(msg: Msg): string {
  const { _rdata: bytes, _msg: parsed } = msg as UnreadMsg;
  if (bytes !== undefined && parsed !== undefined) return textOf(bytes, Math.max(0, parsed.hdr));
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

function textOf(bytes: Uint8Array, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('utf8');
}
