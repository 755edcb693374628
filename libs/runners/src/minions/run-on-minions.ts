import {
  type Command,
  type JobReturn,
  type LocalClient,
  NO_MATCH,
  noResponseText,
  type PublishedCommand,
} from '@brine/client';
import { mapOf, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { isNumber, isTruthy } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import type { RunnerContext } from '../function.ts';

/** Timeouts for minions, in ms; default: the master's options. */
interface Wait {
  readonly timeoutMs?: number;
  readonly gatherJobTimeoutMs?: number;
}

/** A published job, and its returns. */
interface Gathered {
  readonly jid: string;
  readonly returns: readonly JobReturn[];
}

/** Publishes a command and gathers its returns; undefined if no minion matched. */
export async function runOnMinions(
  client: LocalClient,
  command: Command,
  timeoutMs?: number,
): Promise<readonly JobReturn[] | undefined> {
  return (await gather(client, command, timeoutMs === undefined ? {} : { timeoutMs }))?.returns;
}

async function gather(
  client: LocalClient,
  command: Command,
  wait: Wait,
): Promise<Gathered | undefined> {
  const job = await client.publish(command, { listen: true });
  if (job === undefined) return undefined;
  return { jid: job.jid, returns: await allReturns(client, job, wait) };
}

/** The returns of a job that {@link LocalClient.publish} published, with `listen`. */
export async function allReturns(
  client: LocalClient,
  job: PublishedCommand,
  wait: Wait,
): Promise<readonly JobReturn[]> {
  const returns: JobReturn[] = [];
  for await (const item of client.returns(job, wait)) returns.push(item);
  return returns;
}

/**
 * Publishes a command and gathers its returns. Reports a target without minions on the terminal, as
 * Salt's runners do, and resolves with undefined.
 */
export async function gatherFrom(
  { client, out }: Pick<RunnerContext, 'client' | 'out'>,
  command: Command,
  wait: Wait = {},
): Promise<Gathered | undefined> {
  const found = await gather(client, command, wait);
  if (found === undefined) out(NO_MATCH);
  return found;
}

/**
 * The returns of minions by id, in the form of `LocalClient.cmd` in Salt 3008: a minion without a
 * return has Salt's text about it.
 * @param full a map per minion with `ret`, `retcode` and, if present, `out`
 */
export async function returnsOf(
  context: Pick<RunnerContext, 'client' | 'out'>,
  command: Command,
  wait: Wait = {},
  full = false,
): Promise<SaltMap> {
  const found = await gatherFrom(context, command, wait);
  const shown: SaltMap = new Map();
  for (const item of found?.returns ?? []) {
    const silent = { ret: noResponseText(found?.jid ?? ''), retcode: 1, out: 'no_return' };
    const { ret, retcode, out } = item.kind === 'return' ? item : silent;
    shown.set(item.id, full ? mapOf({ ret, retcode, out, jid: found?.jid }) : ret);
  }
  return shown;
}

/**
 * An argument in seconds as ms; undefined without a value.
 * @throws InvalidArgumentsError for a value that is no number
 */
export function waitOf(name: string, value: SaltValue | undefined): number | undefined {
  if (!isTruthy(value)) return undefined;
  if (!isNumber(value)) throw new InvalidArgumentsError(`${name} must be a number of seconds`);
  const seconds = value instanceof SaltFloat ? value.value : Number(value);
  if (seconds > WAIT_MAX_S) throw new InvalidArgumentsError(`${name} is at most ${WAIT_MAX_S}`);
  return seconds > 0 ? seconds * 1000 : undefined;
}

/** A day: a runner that waits longer keeps one of the few places for runners. */
const WAIT_MAX_S = 86_400;
