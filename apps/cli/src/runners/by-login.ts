import {
  type LocalClient,
  MasterUnreachableError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf, unpack } from '@brine/wire';
import type { Printer } from '../display-settings.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import type { MasterLink } from '../master-link.ts';
import { isOn, type ParsedOptions } from '../options/option.ts';
import { logLine, type Terminal } from '../terminal.ts';

/** Runners may wait for minions: this long at most, in ms (Salt: `rest_timeout`). */
const WAIT_MS = 300_000;

/** What a runner is called with, and who calls it. */
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
 * Runs a runner in the master, as whoever logs in, and waits for its event `ret`
 * (Salt: RunnerClient.cmd_sync). Without `listen` only its job id is waited for.
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

/** Runs it there and shows what it returns; with `--async` only under which tag it runs. */
export async function runInMaster(
  link: MasterLink,
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
      link.client,
      call,
      waits ? (onEvent) => link.listen(onEvent) : undefined,
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
