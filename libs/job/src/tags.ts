import { isJid, type Jid } from './jid.ts';

/** Tag of the event of a new job and its minions. */
export function jobNewTag(jid: Jid): string {
  return `salt/job/${jid}/new`;
}

/** Tag of the event that carries the publication itself (3007 and later). */
export function jobPublishTag(jid: Jid): string {
  return `salt/job/${jid}/publish`;
}

/** Tag of the event of a refused publish; a job without an id has none in its tag. */
export function jobErrorTag(jid: string): string {
  return isJid(jid) ? `salt/job/${jid}/error` : 'salt/job/error';
}

/** Tag of the event that carries a return. */
export function jobReturnTag(jid: Jid, id: string): string {
  return `salt/job/${jid}/ret/${id}`;
}

/** Tag of the event of one failed state of a return (Salt: salt/utils/event.py). */
export function jobSubErrorTag(jid: Jid, id: string, fun: string): string {
  return `salt/job/${jid}/sub/${id}/error/${fun}`;
}

/** Tag of a part of a return that a minion sends while the job still runs. */
export function jobProgressTag(jid: Jid, id: string, part: number | string): string {
  return `salt/job/${jid}/prog/${id}/${part}`;
}

/** Tag of the event that a minion sends when it is ready for jobs. */
export function minionStartTag(id: string): string {
  return `salt/minion/${id}/start`;
}

/** The meaning of an event tag. Tags outside Salt's own grammar are of kind `other`. */
export type ParsedTag =
  | { readonly kind: 'job-new' | 'job-publish' | 'job-error'; readonly jid: Jid }
  | { readonly kind: 'job-return'; readonly jid: Jid; readonly id: string }
  | {
      readonly kind: 'job-progress';
      readonly jid: Jid;
      readonly id: string;
      readonly part: string;
    }
  | { readonly kind: 'run' | 'wheel'; readonly jid: Jid; readonly step: string }
  | { readonly kind: 'minion-start'; readonly id: string }
  | { readonly kind: 'auth' | 'key' | 'presence' }
  | { readonly kind: 'syndic'; readonly id: string; readonly tag: string }
  | { readonly kind: 'other' };

const OTHER: ParsedTag = { kind: 'other' };

/** Reads an event tag (Salt: salt/utils/event.py TAGS). Never throws. */
export function parseTag(tag: string): ParsedTag {
  if (tag.startsWith('salt/job/')) return parseJobTag(tag.split('/'));
  if (tag === 'salt/auth') return { kind: 'auth' };
  if (tag === 'salt/key') return { kind: 'key' };
  if (tag.startsWith('salt/presence/')) return { kind: 'presence' };
  const start = /^salt\/minion\/([^/]+)\/start$/.exec(tag);
  if (start?.[1] !== undefined) return { kind: 'minion-start', id: start[1] };
  const run = /^salt\/(run|wheel)\/([^/]+)\/(.+)$/s.exec(tag);
  if (run !== null) return parseRunTag(run);
  const syndic = /^syndic\/([^/]+)\/(.+)$/s.exec(tag);
  if (syndic?.[1] === undefined || syndic[2] === undefined) return OTHER;
  return { kind: 'syndic', id: syndic[1], tag: syndic[2] };
}

function parseJobTag(parts: readonly string[]): ParsedTag {
  const [, , jid, step, id, part] = parts;
  if (!isJid(jid)) return OTHER;
  if (parts.length === 4 && step === 'new') return { kind: 'job-new', jid };
  if (parts.length === 4 && step === 'publish') return { kind: 'job-publish', jid };
  if (parts.length === 4 && step === 'error') return { kind: 'job-error', jid };
  if (id === undefined || id === '') return OTHER;
  if (parts.length === 5 && step === 'ret') return { kind: 'job-return', jid, id };
  if (parts.length === 6 && step === 'prog' && part !== undefined) {
    return { kind: 'job-progress', jid, id, part };
  }
  return OTHER;
}

function parseRunTag(match: RegExpExecArray): ParsedTag {
  const [, kind, jid, step] = match;
  if (!isJid(jid) || step === undefined) return OTHER;
  return { kind: kind === 'run' ? 'run' : 'wheel', jid, step };
}

/** Tag of the event by which a syndic announces itself (Salt: salt/minion.py Syndic). */
export function syndicStartTag(id: string): string {
  return `salt/syndic/${id}/start`;
}

/** The tags of web hooks begin so (Salt: salt/netapi/rest_cherrypy/app.py Webhook). */
const HOOK_TAG = 'salt/netapi/hook';
/** As long as a minion's tag may be. */
const HOOK_TAG_MAX = 8_192;

/** Tag of the event of a web hook; `path` is what its address has after `/hook`. */
export function hookTag(path: readonly string[]): string {
  return [HOOK_TAG, ...path].join('/');
}

/** True for a tag that the HTTP API may fire: one line below `salt/netapi/hook`. */
export function isHookTag(tag: string): boolean {
  if (tag.length > HOOK_TAG_MAX || /\p{Cc}/u.test(tag)) return false;
  return tag === HOOK_TAG || tag.startsWith(`${HOOK_TAG}/`);
}
