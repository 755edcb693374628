import { createHash } from 'node:crypto';
import type { Jid } from '@brine/job';
import { mapIn, type SaltMap, textOf } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import { freeJid } from '../functions/free-jid.ts';
import type { MasterPorts } from '../ports/ports.ts';
import type { Caller } from './caller.ts';

/**
 * The field of a `publish` whose client may send it again, also after it died itself: `{key,
 * body}`, the client's name of the command and a digest of what it asks for.
 */
export const REPEATABLE = 'brine_repeatable';

/** The longest key and digest, in characters. */
const TEXT_MAX = 256;

/** A command that may come again. */
export interface Repeatable {
  readonly key: string;
  readonly body: string;
  /** The id of its request to publish, the same for each try. */
  readonly requestId: string;
}

/** The name that a load gives its command; undefined without one, a refusal for an unfit one. */
export function repeatableIn(
  load: SaltMap,
  { principal }: Pick<Caller, 'principal'>,
): Repeatable | SaltMap | undefined {
  if (!load.has(REPEATABLE)) return undefined;
  const given = mapIn(load, REPEATABLE);
  const key = given && textOf(given, 'key');
  const body = given && textOf(given, 'body');
  const isFit = (text: string | undefined): text is string =>
    text !== undefined && text !== '' && text.length <= TEXT_MAX;
  if (!isFit(key) || !isFit(body)) {
    return buildErrorReply('SaltInvocationError', `${REPEATABLE} takes a key and a digest`);
  }
  // The principal is part of the key, so that no user can answer another's command.
  const whole = `${principal}\0${key}`;
  const digest = createHash('sha256').update(whole).digest('base64url');
  return { key: whole, body, requestId: `command-${digest}` };
}

/** The jid of a command that may come again; `isDone` once its job is published. */
export type CommandJid = { readonly jid: Jid; readonly isDone: boolean };

/** The command as it is on record; undefined if it is new. A refusal for another one by its key. */
export async function knownCommand(
  { commands }: MasterPorts,
  { key, body }: Repeatable,
): Promise<CommandJid | SaltMap | undefined> {
  const known = await commands.find(key);
  return known && judged(known, body);
}

/**
 * Reserves a job id for a new command. Another worker may have been faster: it is its id then.
 * Undefined if no job id was free.
 */
export async function beginCommand(
  ports: MasterPorts,
  { key, body }: Repeatable,
): Promise<CommandJid | SaltMap | undefined> {
  const jid = await freeJid(ports);
  return jid && judged(await ports.commands.begin(key, { jid, body }), body);
}

function judged(
  known: { readonly jid: string; readonly body: string; readonly isDone: boolean },
  body: string,
): CommandJid | SaltMap {
  if (known.body === body) return { jid: known.jid as Jid, isDone: known.isDone };
  return buildErrorReply('CommandKeyError', 'This key was used for another command');
}
