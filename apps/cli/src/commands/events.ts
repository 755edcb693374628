import { MasterUnreachableError, RefusedError, RequestTimeoutError } from '@brine/client';
import { EVENT_KINDS, type EventKind, INNER_KINDS, isEventKind } from '@brine/job';
import {
  type EventSearch,
  followEvents,
  FROM_WORDS,
  fromArgument,
  pageSource,
  toArgument,
} from '@brine/runners/command';
import { errorText } from '@brine/tasks';
import { eventLine, jsonLine } from '../events/event-line.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { findMaster } from '../find-master.ts';
import type { ApiOption } from '../master-place.ts';
import {
  flag,
  isOn,
  numberValue,
  type ParsedOptions,
  text,
  textValue,
} from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { whenInterrupted } from '../salt/interrupt.ts';
import type { Terminal } from '../terminal.ts';

const KINDS = EVENT_KINDS.filter((kind) => !INNER_KINDS.has(kind));

/** Number of events between two waits for the reader of a pipe. */
const FLUSH_EVERY = 200;

const DESCRIPTION = `Shows the events of the whole cluster as they arrive, or past ones.

Each event has a position. --from continues after it without losing or repeating an event, also
after a restart of the master.`;

const OPTIONS = [
  text(
    ['--from'],
    'from',
    `Where to begin: ${FROM_WORDS}. Without it: now; with --to or --no-follow, oldest.`,
  ),
  text(['--to'], 'to', 'Only events from before this time or age.'),
  text(['--tag'], 'tag', 'Only tags that this glob matches.'),
  text(['--minion'], 'minion', 'Only events from or about minions that this glob matches.'),
  text(['--jid'], 'jid', 'Only events of this job.'),
  text(['--kind'], 'kind', `Only these kinds, with commas: ${KINDS.join(', ')}.`),
  {
    names: ['--count'],
    dest: 'count',
    kind: 'int',
    help: 'End after this number of events.',
  } as const,
  flag(['--no-follow'], 'no_follow', 'End with what there is now.'),
  flag(['--data'], 'data', 'Show all data of each event too.'),
  flag(['--json'], 'json', 'One JSON object per line, with position and data.'),
  flag(['--no-color', '--no-colour'], 'no_color', 'No colours.'),
  flag(['--force-color', '--force-colour'], 'force_color', 'Colours also in a pipe.'),
];

/** `brine events`: the bus of the cluster, live or replayed, for people or as JSON. */
export async function runEvents(
  args: readonly string[],
  terminal: Terminal,
  api?: ApiOption,
): Promise<number> {
  const parser = new OptionParser(brineForm('events', DESCRIPTION, OPTIONS));
  const options = parser.parse(args);
  if (options.args.length > 0) throw parser.error('events takes options only');
  const search = searchOf(options, parser);
  const codes = { refused: EXIT.generic, unreachable: EXIT.generic };
  const master = (await findMaster(options, terminal, api, codes)).open();
  try {
    return await show(pageSource({ client: master.client }), search, options, terminal);
  } catch (error) {
    const isKnown =
      error instanceof RefusedError ||
      error instanceof MasterUnreachableError ||
      error instanceof RequestTimeoutError;
    if (!isKnown) throw error;
    throw new Exit(EXIT.generic, `${error.message}\n`);
  } finally {
    await master.close();
  }
}

async function show(
  ask: ReturnType<typeof pageSource>,
  search: EventSearch,
  options: ParsedOptions,
  terminal: Terminal,
): Promise<number> {
  const count = numberValue(options, 'count');
  const asJson = isOn(options, 'json');
  const color = isOn(options, 'force_color') || (!isOn(options, 'no_color') && terminal.isTerminal);
  const style = { color, data: isOn(options, 'data') };
  const interrupt = whenInterrupted(terminal);
  const live = !isOn(options, 'no_follow') && search.toMs === undefined;
  let shown = 0;
  let last: string | undefined;
  try {
    const following = {
      live,
      ...(count === undefined ? {} : { count }),
      onNotice: (notice: string): void => terminal.err(`# ${notice}\n`),
      onPosition: (position: string): void => void (last = position),
    };
    for await (const event of followEvents(ask, search, following)) {
      terminal.out(asJson ? jsonLine(event) : eventLine(event, style));
      interrupt.text = `To continue: brine events --from ${event.position}\n`;
      shown += 1;
      // Wait for a slow reader; the master keeps the events meanwhile.
      if (shown % FLUSH_EVERY === 0) await terminal.flush?.();
    }
  } finally {
    interrupt.dispose();
  }
  if (last !== undefined && !asJson) terminal.err(`# next: ${last}\n`);
  return EXIT.ok;
}

function searchOf(options: ParsedOptions, parser: OptionParser): EventSearch {
  const [tag, minion, jid] = ['tag', 'minion', 'jid'].map((name) => textValue(options, name));
  const nowMs = Date.now();
  try {
    const toMs = toArgument('--to', textValue(options, 'to') ?? null, nowMs);
    const kinds = kindsOf(textValue(options, 'kind'));
    const begin = toMs !== undefined || isOn(options, 'no_follow') ? 'oldest' : 'now';
    return {
      from: fromArgument('--from', textValue(options, 'from') ?? begin, nowMs),
      ...(toMs === undefined ? endOf(options, nowMs) : { toMs }),
      ...(tag === undefined ? {} : { tag }),
      ...(minion === undefined ? {} : { minion }),
      ...(jid === undefined ? {} : { jid }),
      ...(kinds === undefined ? {} : { kinds }),
    };
  } catch (error) {
    throw parser.error(errorText(error));
  }
}

/** The end of a replay, without which a busy master's events would never end. */
function endOf(options: ParsedOptions, nowMs: number): { readonly toMs?: number } {
  return isOn(options, 'no_follow') ? { toMs: nowMs } : {};
}

function kindsOf(list: string | undefined): readonly EventKind[] | undefined {
  if (list === undefined) return undefined;
  return list.split(',').map((word) => {
    const kind = word.trim();
    if (isEventKind(kind) && !INNER_KINDS.has(kind)) return kind;
    throw new Error(`--kind: ${kind} is none of ${KINDS.join(', ')}`);
  });
}
