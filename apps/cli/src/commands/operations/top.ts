import { JobRecords } from '@brine/client';
import { EVERY_S, pictures, showLive, TopSource } from '@brine/operations/top';
import { EXIT } from '../../exit-codes.ts';
import { findMaster } from '../../find-master.ts';
import type { ApiOption } from '../../master-place.ts';
import { flag, isOn, numberValue } from '../../options/command-form.ts';
import { brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import type { Terminal } from '../../terminal.ts';

const DESCRIPTION = `Shows services, queues, jobs and minions of all hosts, refreshed every
2 seconds.

Keys: 1 services, 2 queues, 3 jobs, 4 minions; arrows; Enter: why minions of a job are silent;
/ filter; + and - time; p pause; ? help; q end. No colours with NO_COLOR.`;

/** Timeout for the master, ms; after it a reason is shown instead of the answer. */
const ASK_MS = 5_000;
const EVERY_MIN_S = 0.5;
const EVERY_MAX_S = 60;

/** `brine top`: a live view. Returns the exit code. */
export async function runTopCommand(
  args: readonly string[],
  terminal: Terminal,
  api?: ApiOption,
): Promise<number> {
  const parser = new OptionParser(
    brineForm('top', DESCRIPTION, [
      {
        names: ['--every'],
        dest: 'every',
        kind: 'float',
        default: EVERY_S,
        help: `Seconds between two looks, ${EVERY_MIN_S} to ${EVERY_MAX_S}.`,
      },
      flag(['--once'], 'once', 'Print one picture of each view and end.'),
      flag(['--no-color', '--no-colour'], 'no_color', 'No colours.'),
    ]),
  );
  const options = parser.parse(args);
  if (options.args.length > 0) throw parser.error('top takes options only');
  const every = numberValue(options, 'every') ?? EVERY_S;
  if (!(every >= EVERY_MIN_S && every <= EVERY_MAX_S)) {
    throw parser.error(`--every takes ${EVERY_MIN_S} to ${EVERY_MAX_S} seconds`);
  }
  const once = isOn(options, 'once');
  const { stdin: input, stdout: output } = process;
  if (!once && (!input.isTTY || !output.isTTY || process.env['TERM'] === 'dumb')) {
    throw parser.error(
      'this is no terminal that can be drawn on: use --once, or brine status --all',
    );
  }
  const color = terminal.isTerminal && !isOn(options, 'no_color') && !process.env['NO_COLOR'];
  const codes = { refused: EXIT.generic, unreachable: EXIT.generic };
  const place = await findMaster(options, terminal, api, codes);
  const { config } = place;
  const master = place.look(ASK_MS);
  const source = new TopSource(
    place.api === undefined ? config : undefined,
    new JobRecords(master.client),
  );
  try {
    if (once) {
      const { text, isAnswered } = await pictures(source, config.id);
      terminal.out(text);
      return isAnswered ? EXIT.ok : EXIT.generic;
    }
    await untilSignal((signal) =>
      showLive({
        source,
        streams: { input, output },
        color,
        signal,
        everyMs: every * 1000,
        title: config.id,
        suspend: () => process.kill(process.pid, 'SIGTSTP'),
      }),
    );
    return EXIT.ok;
  } finally {
    await master.close();
  }
}

/** Runs `work` until a signal, so that the terminal is always restored. */
async function untilSignal(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, end);
  try {
    await work(ending.signal);
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}
