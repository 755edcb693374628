import {
  type LocalClient,
  MasterUnreachableError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf, unpack } from '@brine/wire';
import { EXIT, Exit } from '../exit-codes.ts';
import type { LocalMaster } from '../local-master.ts';
import { isOn, type ParsedOptions } from '../options/command-form.ts';
import type { Printer } from '../printer.ts';
import { logLine, type Terminal } from '../terminal.ts';

/** Longest wait for a runner, which may wait for minions, in ms (Salt: `rest_timeout`). */
const WAIT_MS = 300_000;

/** A runner, its arguments and the caller's credentials. */
export interface RemoteCall {
  readonly fun: string;
  readonly args: readonly SaltValue[];
  /** A token, or a name and a password. */
  readonly credentials: SaltMap;
}

/** The event socket of this host. */
type Listen = (
  onEvent: (tag: string, packed: Uint8Array) => void,
) => Promise<{ close(): void | Promise<void> }>;

interface Outcome {
  readonly tag: string;
  readonly value: SaltValue;
  /** False where the master says that the runner failed. */
  readonly success: boolean;
}

/**
 * Runs a runner in the master, with the caller's credentials, and waits for its event `ret`
 * (Salt: RunnerClient.cmd_sync). Without `listen` it waits only for the job id.
 * @throws RefusedError with Salt's text; Error where no answer comes.
 */
async function runByLogin(
  client: LocalClient,
  call: RemoteCall,
  listen: Listen | undefined,
): Promise<Outcome> {
  const early = new Map<string, Uint8Array>();
  let wanted: string | undefined;
  let found: (packed: Uint8Array) => void = () => undefined;
  const returned = new Promise<Uint8Array>((resolve) => (found = resolve));
  // The event may come before the reply that names its tag.
  const connection = await listen?.((tag, packed) => {
    if (!/^salt\/run\/\d{20}\/ret$/.test(tag)) return;
    if (tag === wanted) found(packed);
    else if (wanted === undefined && early.size < 10_000) early.set(tag, packed);
  });
  try {
    const reply = await client.command(loadOf(call));
    const [tag, jid] = [textOf(reply, 'tag'), textOf(reply, 'jid')];
    if (tag === undefined || jid === undefined) throw new RefusedError('SaltClientError', '');
    if (connection === undefined) return { tag, value: jid, success: true };
    wanted = `${tag}/ret`;
    const known = early.get(wanted);
    const packed = known ?? (await inTime(returned, call.fun));
    const unpacked = unpack(packed);
    const data = isMap(unpacked) ? unpacked : mapOf({});
    return { tag, value: data.get('return') ?? null, success: data.get('success') !== false };
  } finally {
    await connection?.close();
  }
}

function loadOf({ fun, args, credentials }: RemoteCall): SaltMap {
  const positional: SaltValue[] = [];
  const keywords: SaltMap = new Map();
  for (const arg of args) {
    if (!isMap(arg) || arg.get('__kwarg__') !== true) positional.push(arg);
    else for (const [name, value] of arg) if (name !== '__kwarg__') keywords.set(name, value);
  }
  const kwarg = mapOf({ kwarg: keywords, arg: positional });
  return new Map([...mapOf({ cmd: 'runner', fun, kwarg }), ...credentials]);
}

async function inTime(returned: Promise<Uint8Array>, fun: string): Promise<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const text = `RunnerClient job '${fun}' timed out`;
    timer = setTimeout(() => reject(new Error(text)), WAIT_MS);
  });
  try {
    return await Promise.race([returned, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a runner in the master and shows its result; with `--async` only the tag of its events. */
export async function runInMaster(
  master: LocalMaster,
  call: RemoteCall,
  shown: {
    readonly printer: Printer;
    readonly terminal: Terminal;
    readonly options: ParsedOptions;
  },
): Promise<number> {
  const { printer, terminal, options } = shown;
  const waits = !isOn(options, 'async');
  try {
    const { tag, value, success } = await runByLogin(
      master.client,
      call,
      waits ? (onEvent) => master.listen(onEvent) : undefined,
    );
    if (!waits) logLine(terminal, 'WARNING', `${ASYNC} ${tag}`);
    else if (!isOn(options, 'quiet')) printer.show(value, 'nested');
    return success ? EXIT.ok : EXIT.generic;
  } catch (error) {
    if (error instanceof MasterUnreachableError || error instanceof RequestTimeoutError) {
      throw new Exit(EXIT.generic, `${error.message}\n`);
    }
    if (!(error instanceof RefusedError)) throw error;
    if (!isOn(options, 'quiet')) printer.show(error.message, 'nested');
    return EXIT.ok;
  }
}

const ASYNC =
  'Running in asynchronous mode. Results of this execution may be collected by attaching to the ' +
  'master event bus or by examining the master job cache, if configured. This execution is ' +
  'running under tag';
