import { isRecord } from '../connection/js-api.ts';
import type { Again } from './publication-writer.ts';

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
