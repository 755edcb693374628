import type { KeyState } from './key-dirs.ts';
import { keyHash } from './key-dirs.ts';
import type { KeyFiles } from './key-store.ts';

/** The shared record of a minion id. A deletion is a value, so that it can be seen. */
export interface KeyRecord {
  readonly state: KeyState | 'deleted';
  /** PEM text, trimmed; empty when deleted. */
  readonly pub: string;
  /** Keys that were refused, the latest last. */
  readonly denied?: readonly string[];
  /** Unix time of the change in milliseconds. */
  readonly at: number;
}

/** A record with the revision under which it is stored. */
export interface StoredKey {
  readonly record: KeyRecord;
  readonly revision: number;
}

/** One line of the journal: what files and record last agreed on. */
export interface AgreedKey {
  readonly state?: KeyState;
  readonly hash?: string;
  /** Hash of the denied key. */
  readonly denied?: string;
  /** Revision of the record at that time; 0 where it is no longer comparable. */
  readonly revision: number;
}

/** What to do with one id. Both sides and the journal end up at `target`. */
export interface KeyDecision {
  readonly target: KeyFiles;
  readonly writeFiles: boolean;
  readonly writeRecord: boolean;
  /**
   * A file that the journal knows is gone. It counts as deleted only after a while, and not if many
   * vanish at once.
   */
  readonly vanished: boolean;
  /** Both sides had changed in different ways; the record has won. */
  readonly conflict: boolean;
}

type Side = 'same' | 'file' | 'record';

/**
 * Reconciles the files, the shared record and the journal of one id.
 *
 * The record is the truth. A file counts only where it differs from the journal. Without a journal
 * line a file is imported if the record knows nothing of the id, and nothing is ever deleted from
 * the record. An absent record never deletes a file: deletions are values. A record whose revision
 * is below the agreed one went back (an older copy was restored): files and journal are newer.
 */
export function reconcileKey(
  agreed: AgreedKey | undefined,
  files: KeyFiles,
  stored: StoredKey | undefined,
): KeyDecision {
  const recordKey = stateOf(stored);
  const recordDenied = stored?.record.denied?.at(-1);
  const wentBack =
    agreed !== undefined && stored !== undefined && stored.revision < agreed.revision;
  const trust = { journal: agreed !== undefined, record: stored !== undefined, wentBack };
  const key = merge(trust, factOf(agreed), keyFact(files), keyFact(recordKey));
  const denied = merge(
    trust,
    agreed?.denied,
    files.denied && keyHash(files.denied),
    recordDenied && keyHash(recordDenied),
  );
  const chosen = key.side === 'record' ? recordKey : files;
  const chosenDenied = denied.side === 'record' ? recordDenied : files.denied;
  return {
    target: {
      ...(chosen.state && chosen.pub !== undefined && { state: chosen.state, pub: chosen.pub }),
      ...(chosenDenied !== undefined && { denied: chosenDenied }),
    },
    writeFiles: key.side === 'record' || denied.side === 'record',
    writeRecord: key.side === 'file' || denied.side === 'file',
    vanished:
      (key.side === 'file' && files.state === undefined) ||
      (denied.side === 'file' && files.denied === undefined),
    conflict: key.conflict || denied.conflict,
  };
}

/** The journal line for a target that both sides now have. */
export function agreedOn(target: KeyFiles, revision: number): AgreedKey {
  return {
    ...(target.state &&
      target.pub !== undefined && {
        state: target.state,
        hash: keyHash(target.pub),
      }),
    ...(target.denied !== undefined && { denied: keyHash(target.denied) }),
    revision,
  };
}

/** The record for a target, keeping earlier denied keys (at most `MAX_DENIED`). */
export function recordFor(
  target: KeyFiles,
  stored: StoredKey | undefined,
  nowMs: number,
): KeyRecord {
  const earlier = stored?.record.denied ?? [];
  const denied = target.denied;
  const list = denied === undefined ? [] : [...earlier.filter((pub) => pub !== denied), denied];
  return {
    state: target.state ?? 'deleted',
    pub: target.pub ?? '',
    ...(list.length > 0 && { denied: list.slice(-MAX_DENIED) }),
    at: nowMs,
  };
}

/** Bounds the record of a peer that sends one new key after another. */
const MAX_DENIED = 8;

/** More files vanishing at once count as an accident until an operator confirms them. */
export function vanishLimit(known: number): number {
  return Math.max(10, Math.floor(known / 20));
}

function merge(
  trust: { readonly journal: boolean; readonly record: boolean; readonly wentBack: boolean },
  base: string | undefined,
  file: string | undefined,
  record: string | undefined,
): { readonly side: Side; readonly conflict: boolean } {
  const take = (side: Side, conflict = false) => ({ side, conflict });
  if (file === record) return take('same');
  if (!trust.record || trust.wentBack) return take('file');
  if (!trust.journal) return take('record', file !== undefined);
  if (file === base) return take('record');
  if (record === base) return take('file');
  return take('record', true);
}

function stateOf(stored: StoredKey | undefined): KeyFiles {
  if (stored === undefined || stored.record.state === 'deleted') return {};
  return { state: stored.record.state, pub: stored.record.pub };
}

function keyFact(files: KeyFiles): string | undefined {
  return files.state === undefined || files.pub === undefined
    ? undefined
    : `${files.state}:${keyHash(files.pub)}`;
}

function factOf(agreed: AgreedKey | undefined): string | undefined {
  return agreed?.state === undefined ? undefined : `${agreed.state}:${agreed.hash ?? ''}`;
}
