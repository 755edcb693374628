import { isJid } from './jid.ts';

/**
 * The subject of a tag that a minion fires. Salt's readers take events by their tag alone, so a
 * minion may fire only the tags of Salt's own namespaces that are listed here.
 */
export type FiredTag =
  /** Outside Salt's namespaces: free for the site, for every minion. */
  | { readonly kind: 'custom' }
  /** In Salt's namespaces, without the name of a minion, such as `minion_start`. */
  | { readonly kind: 'plain' }
  /** Names the minion that it is about. `job`: readers of a job's events see it. */
  | { readonly kind: 'named'; readonly id: string; readonly job: boolean }
  /** The report of a syndic about the minions below it. */
  | { readonly kind: 'below'; readonly id: string }
  /** In Salt's namespaces and on no list: refused unless the master's options name it. */
  | { readonly kind: 'unlisted' }
  /** Reserved to the master; no option opens it. */
  | { readonly kind: 'reserved' }
  /** Invalid as a tag: readers would take it for another. */
  | { readonly kind: 'unfit' };

// The longest honest tag is a beacon's with a path behind it.
const TAG_MAX = 8_192;

// An empty line ends the tag of a packed event (Salt: salt/utils/event.py TAGEND).
const UNFIT = /\n\n|\0|\p{Surrogate}/u;

// The first parts of tags that Salt's own readers act on, also job ids and `__…`.
const SALTS = /^(?:salt|syndic|minion|resource|cluster|key|new_job|__[^/]*|\d{20}[^/]*)(?:\/|$)/;

// Lower case, printable, and no segment that a path would leave out.
const PLAIN_PATH = /^(?![^]*(?:^|\/)\.{0,2}(?:\/|$))[!-@[\]-~]+$/;

// Salt: salt/minion.py and salt/utils/error.py, the tags that name no minion.
const NAMELESS: ReadonlySet<string> = new Set([
  ...['minion_start', 'minion_ping', 'syndic_start', '_salt_error', 'salt/deltaproxy/start'],
]);

// Reports of minions about themselves (Salt: salt/minion.py, salt/beacons, salt/state.py event).
const NAMED: readonly RegExp[] = [
  /^salt\/(?:minion|syndic)\/([^/]+)\/start$/,
  /^salt\/beacon\/([^/]+)\//,
  /^salt\/state_result\/\d{20}[^/]*\/([^/]+)\/[^]/,
  /^(?:minion|resource)\/refresh\/([^/]+)$/,
];
const NAMED_IN_JOB = /^salt\/job\/([^/]+)\/(?:start\/([^/]+)|prog\/([^/]+)\/\d+)$/;
const BELOW = /^syndic\/([^/]+)\/[^]/;

// No option opens these: only the master reports jobs, functions and keys (CVE-2025-22239).
const OPEN = /^(?:salt|minion|resource)\//;
const CLOSED = /^salt\/(?:auth|batch|cloud|cluster|job|key|presence|run|wheel)(?:\/|$)/;

/** The subject of a tag. The cost is proportional to its length. Never throws. */
export function firedTag(tag: string): FiredTag {
  if (tag === '' || tag.length > TAG_MAX || UNFIT.test(tag)) return { kind: 'unfit' };
  if (NAMELESS.has(tag)) return { kind: 'plain' };
  for (const pattern of NAMED) {
    const id = pattern.exec(tag)?.[1];
    if (id !== undefined) return { kind: 'named', id, job: false };
  }
  const [, jid, started, ran] = NAMED_IN_JOB.exec(tag) ?? [];
  const id = started ?? ran;
  if (id !== undefined && isJid(jid)) return { kind: 'named', id, job: true };
  const below = BELOW.exec(tag)?.[1];
  if (below !== undefined) return { kind: 'below', id: below };
  const path = PLAIN_PATH.test(tag) ? tag : undressed(tag);
  if (!SALTS.test(path)) return { kind: 'custom' };
  return { kind: OPEN.test(path) && !CLOSED.test(path) ? 'unlisted' : 'reserved' };
}

/**
 * The path in a tag without its decoration. Readers match by parts of the text, by globs and by
 * expressions, and people by eye.
 */
function undressed(tag: string): string {
  const bare = tag.normalize('NFKC').replace(/[\p{C}\p{Z}\s]/gu, '');
  const path: string[] = [];
  for (const segment of bare.toLowerCase().replaceAll('\\', '/').split('/')) {
    if (segment === '..') path.pop();
    else if (segment !== '' && segment !== '.') path.push(segment);
  }
  return path.length === 0 ? 'salt' : path.join('/');
}
