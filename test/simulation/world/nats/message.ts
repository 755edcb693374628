import type { Msg, MsgHdrs } from '@nats-io/nats-core';

/** A message between connections. */
export interface SimMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply?: string;
  readonly headers?: SimHeaders;
}

/** Headers by their exact name, and the status of a message of the server's own. */
export class SimHeaders {
  readonly code: number;
  readonly description: string;
  readonly values: ReadonlyMap<string, string>;

  constructor(values: ReadonlyMap<string, string>, code = 0, description = '') {
    this.values = values;
    this.code = code;
    this.description = description;
  }

  get(name: string): string {
    return this.values.get(name) ?? '';
  }
}

/** A status message as nats-server sends it. */
export function status(
  code: number,
  description: string,
  values: Readonly<Record<string, string>> = {},
): SimHeaders {
  return new SimHeaders(new Map(Object.entries(values)), code, description);
}

/** Reads headers that were made to be published: only their bytes are known. */
export function readHeaders(headers: MsgHdrs | undefined): SimHeaders | undefined {
  if (headers === undefined) return undefined;
  const { encode } = headers as unknown as { readonly encode: () => Uint8Array };
  const lines = Buffer.from(encode()).toString('utf8').split('\r\n').slice(1);
  const values = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf(':');
    if (at > 0) values.set(line.slice(0, at), line.slice(at + 1).trim());
  }
  return new SimHeaders(values);
}

/** The message as the client library shows it. */
export function clientMessage(message: SimMessage, respond: (data: string) => void): Msg {
  const { subject, data, reply, headers } = message;
  const shown = { subject, data, reply, headers, respond };
  return shown as unknown as Msg;
}

/** Tells whether a subject matches a pattern with `*` and `>`. */
export function matcherOf(pattern: string): (subject: string) => boolean {
  if (!pattern.includes('*') && !pattern.endsWith('>')) return (subject) => subject === pattern;
  if (pattern === '>') return () => true;
  const stem = pattern.slice(0, -1);
  if (!/[*>]/.test(stem)) {
    const isOneToken = pattern.endsWith('*');
    return (subject) =>
      subject.length > stem.length &&
      subject.startsWith(stem) &&
      !(isOneToken && subject.includes('.', stem.length));
  }
  const wanted = pattern.split('.');
  return (subject) => {
    const tokens = subject.split('.');
    return (
      tokens.length === wanted.length &&
      wanted.every((token, at) => token === '*' || token === tokens[at])
    );
  };
}
