import { isRecord } from '../connection/js-api.ts';

/** A job that is to be sent once more, under the same jid and a new serial. */
export interface Again {
  readonly jid: string;
  /** Of the job's own message in PUBLICATIONS. */
  readonly seq: number;
  /** In ms since 1970. */
  readonly notAfter: number;
  /** Set where few of its minions have not returned: it goes to these alone. */
  readonly waiting?: readonly string[];
  /**
   * Set where it goes to some minions only, possibly after the stream has forgotten the job: who
   * they are, and the publication for them.
   */
  readonly only?: { readonly minions: readonly string[]; readonly publication: Uint8Array };
}

/** From here on the master AES key of this epoch holds. */
export interface Marker {
  readonly epoch: number;
}

/** Packs an {@link Again}: JSON, its publication in base64. */
export function packAgain({ only, ...again }: Again): Buffer {
  const base64 = only && Buffer.from(only.publication).toString('base64');
  const restricted = only && { only: { minions: only.minions, publication: base64 } };
  return Buffer.from(JSON.stringify({ ...again, ...restricted }));
}

/** Reads the JSON of {@link packAgain}; undefined for anything else. */
export function readAgain(value: unknown): Again | undefined {
  if (!isRecord(value)) return undefined;
  const { jid, seq, notAfter, waiting } = value;
  if (typeof jid !== 'string' || typeof seq !== 'number') return undefined;
  if (typeof notAfter !== 'number') return undefined;
  if (waiting !== undefined) {
    return isListOfIds(waiting) ? { jid, seq, notAfter, waiting } : undefined;
  }
  if (value['only'] === undefined) return { jid, seq, notAfter };
  const only = readOnly(value['only']);
  return only && { jid, seq, notAfter, only };
}

function readOnly(value: unknown): Again['only'] {
  if (!isRecord(value)) return undefined;
  const { minions, publication } = value;
  if (!isListOfIds(minions) || typeof publication !== 'string') return undefined;
  return { minions, publication: Buffer.from(publication, 'base64') };
}

function isListOfIds(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}
