import { CryptError } from '@brine/crypt';
import type { AuditOutcome } from '@brine/job';
import { compileGlob } from '@brine/target';
import { isMap, mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { MasterUnavailableError } from '../errors.ts';
import type { MinionKey, StoredMinionKey } from '../ports/key-ports.ts';
import type { MasterPorts } from '../ports/ports.ts';

export type KeyAct = 'accept' | 'reject' | 'delete';

/** An act on keys, with the user for events and the proven name. */
export interface KeyChange {
  readonly act: KeyAct;
  readonly user: string;
  readonly principal: string;
}

/** The sections of salt-key, in the order of 3008's `list_all`. */
const SECTIONS = ['minions_pre', 'minions_rejected', 'minions', 'minions_denied'] as const;
type Section = (typeof SECTIONS)[number];

const SECTION_OF = {
  accepted: 'minions',
  pending: 'minions_pre',
  rejected: 'minions_rejected',
  deleted: undefined,
} as const;

/** The sections that an option adds to the pending keys. */
const ADDED: Readonly<Record<string, Section>> = {
  include_accepted: 'minions',
  include_rejected: 'minions_rejected',
  include_denied: 'minions_denied',
};

/** Acts in the `salt/key` event of 3008 (salt/key.py change_state, delete_key). */
const EVENT_WORD = { accept: 'accepted', reject: 'rejected', delete: 'delete' } as const;

/** Limit of retries of a failed compare-and-set. */
const TRIES_MAX = 5;

/** Limit of globs in one call; a list of minions is cheaper as a map of sections. */
const GLOBS_MAX = 10_000;

/** All ids by section, sorted without regard to case. */
export function listKeys({ keys }: MasterPorts): SaltMap {
  const found = new Map<Section, string[]>(SECTIONS.map((section) => [section, []]));
  for (const [id, key] of keys.all()) {
    const section = SECTION_OF[key.state];
    if (section !== undefined) found.get(section)?.push(id);
    if (key.denied.length > 0) found.get('minions_denied')?.push(id);
  }
  return new Map([...found].map(([section, ids]) => [section, ids.sort(ignoringCase)]));
}

/** The matching ids by section: for a glob, several by comma, a list, or a map. */
export function matchKeys(ports: MasterPorts, match: SaltValue): SaltMap {
  const all = listKeys(ports);
  const wanted = wantedIn(match);
  const found: SaltMap = new Map();
  for (const [section, ids] of all) {
    const matching = (ids as string[]).filter((id) => wanted(section as Section, id));
    if (matching.length > 0) found.set(section, matching);
  }
  return found;
}

/** A text for each matching key, by section and id. */
export function textsOfKeys(
  ports: MasterPorts,
  match: SaltValue,
  view: (pem: string) => string,
): SaltMap {
  const found: SaltMap = new Map();
  for (const [section, ids] of matchKeys(ports, match)) {
    const texts: SaltMap = new Map();
    for (const id of ids as string[]) {
      const key = ports.keys.cached(id);
      const pem = section === 'minions_denied' ? key?.denied[0] : key?.pub;
      if (pem !== undefined) texts.set(id, view(pem));
    }
    found.set(section, texts);
  }
  return found;
}

/**
 * Accepts, rejects or deletes the matching keys; returns the matches afterwards, as Salt does. Each
 * change is one compare-and-set, which is judged again if another writer was first.
 */
export async function changeKeys(
  ports: MasterPorts,
  asked: KeyChange,
  match: SaltValue,
  included: readonly string[],
): Promise<SaltMap> {
  const { act } = asked;
  const chosen = matchKeys(ports, match);
  let revoked = false;
  const sections = new Set<SaltValue>([
    'minions_pre',
    ...included.map((name) => ADDED[name] ?? ''),
  ]);
  for (const [section, ids] of chosen) {
    if (act !== 'delete' && !sections.has(section)) continue;
    for (const id of ids as string[]) {
      revoked = (await changeKey(ports, asked, section as Section, id)) || revoked;
    }
  }
  // The minion has the AES key and must not read later publications.
  if (revoked && ports.rules.rotateAesKey) ports.aes.rotate();
  return matchKeys(ports, match);
}

/**
 * Accepts a new key of a minion, whatever the state of the id; replaces an existing key only with
 * `force` (salt/wheel/key.py gen_accept). Returns false if nothing was changed.
 */
export async function installKey(
  ports: MasterPorts,
  asked: Pick<KeyChange, 'user' | 'principal'> & { readonly force: boolean },
  id: string,
  pub: string,
): Promise<boolean> {
  ports.keys.parsed(id, pub);
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const stored = await ports.keys.fetch(id);
    const isThere = stored !== undefined && stored.state !== 'deleted';
    if (isThere && !asked.force) return false;
    const next = { state: 'accepted', pub, denied: stored?.denied ?? [] } as const;
    if (!(await ports.keys.store(id, next, stored))) continue;
    recordChange(ports, asked, id, `${stored?.state ?? 'none'} to accepted`);
    // A minion with the former key must log in again, and reads no later publication.
    if (isThere) await ports.keys.forget(id, { data: false });
    if (stored?.state === 'accepted' && ports.rules.rotateAesKey) ports.aes.rotate();
    return true;
  }
  throw new MasterUnavailableError(`the key of ${id} is being changed by others`);
}

/** Resolves with true if the key was accepted before and is not now. */
async function changeKey(
  ports: MasterPorts,
  { act, user, principal }: KeyChange,
  section: Section,
  id: string,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const stored = await ports.keys.fetch(id);
    const next = stored && nextKey(ports, stored, act, section, id);
    if (stored === undefined || next === undefined) return false;
    if (!(await ports.keys.store(id, next, stored))) continue;
    recordChange(ports, { user, principal }, id, `${stored.state} to ${next.state}`);
    const revoked = stored.state === 'accepted' && next.state !== 'accepted';
    const deleted = next.state === 'deleted';
    if (revoked || deleted) {
      await ports.keys.forget(id, { data: deleted && !ports.rules.preserveMinionCache });
    }
    // As in 3008: the event of a decision contains the key.
    const pub = deleted || act === 'delete' ? undefined : next.pub;
    const body = pack(mapOf({ result: true, act: EVENT_WORD[act], id, pub }));
    const msgId = `key:${id}:${stored.revision}:${act}`;
    await ports.events.append({ kind: 'key', tag: 'salt/key', body, msgId, minion: id });
    return revoked;
  }
  throw new MasterUnavailableError(`the key of ${id} is being changed by others`);
}

function recordChange(
  { audit }: MasterPorts,
  { user, principal }: Pick<KeyChange, 'user' | 'principal'>,
  id: string,
  outcome: AuditOutcome,
): void {
  const who = { principal, ...(user === principal ? {} : { claimed: user }) };
  audit?.record({ kind: 'key', outcome, ...who, method: 'wheel', target: id });
}

/** Undefined if the key is no longer in that section, or is invalid. */
function nextKey(
  { keys }: MasterPorts,
  stored: StoredMinionKey,
  act: KeyAct,
  section: Section,
  id: string,
): MinionKey | undefined {
  const { state, pub, denied } = stored;
  const fromDenied = section === 'minions_denied';
  if (fromDenied ? denied.length === 0 : SECTION_OF[state] !== section) return undefined;
  if (act === 'delete') {
    return fromDenied ? { state, pub, denied: [] } : { state: 'deleted', pub: '', denied };
  }
  const pem = fromDenied ? (denied[0] ?? '') : pub;
  try {
    keys.parsed(id, pem);
  } catch (cause) {
    if (cause instanceof CryptError) return undefined;
    throw cause;
  }
  const left = fromDenied ? denied.slice(1) : denied;
  return { state: act === 'accept' ? 'accepted' : 'rejected', pub: pem, denied: left };
}

function wantedIn(match: SaltValue): (section: Section, id: string) => boolean {
  if (isMap(match)) {
    const bySection = new Map<SaltValue, ReadonlySet<SaltValue>>();
    for (const [section, ids] of match) {
      bySection.set(section, new Set(Array.isArray(ids) ? ids : [ids]));
    }
    return (section, id) => bySection.get(section)?.has(id) === true;
  }
  const words = Array.isArray(match) ? match : typeof match === 'string' ? match.split(',') : [];
  const globs = words
    .filter((word) => typeof word === 'string')
    .slice(0, GLOBS_MAX)
    .map(compileGlob);
  return (_section, id) => globs.some((glob) => glob(id));
}

/** Salt: salt/utils/data.py sorted_ignorecase. */
function ignoringCase(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a < b ? -1 : a > b ? 1 : 0;
}
