import { pythonJson } from '@brine/client';
import { compilePcreWhole, matchGlob } from '@brine/target';
import { Wakeup } from '@brine/tasks';
import type { SaltMap, SaltValue } from '@brine/wire';
import { isTruthy, pyStr, typeName } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import { followEvents, pageSource } from '../events/event-source.ts';
import { FROM_WORDS, fromArgument } from '../events/from-argument.ts';
import { printable } from '../events/printable.ts';
import type { RunnerContext, RunnerFunction } from '../function.ts';
import { numberGiven, refusal } from '../given-values.ts';

/** Limit of events that a master shows for one call. */
const COUNT_MAX = 10_000;

/** Limit of events that wait to be printed; beyond it one line reports that some are left out. */
const WAITING_MAX = 100_000;

/** `state.event`: new events, as lines of a tag, a tab and JSON. */
export const STATE_EVENT: RunnerFunction = {
  name: 'state.event',
  parameters: [
    ['tagmatch', '*'],
    ['count', -1],
    ['quiet', false],
    ['sock_dir', null],
    ['pretty', false],
    ['node', 'master'],
    ['from', null],
  ],
  doc:
    'Shows events as they come: the tag, a tab and the data as JSON. tagmatch: a glob or a ' +
    'regular expression of tags (*). count: ends after so many events (-1: never). quiet: only ' +
    'waits. pretty: JSON in several lines. node: only master. from: shows first the events since ' +
    `then, and continues without a gap; ${FROM_WORDS}.`,
  async run({ named }, context) {
    if (named.get('node') !== 'master')
      throw refusal('state.event shows the events of the master.');
    if (isTruthy(named.get('sock_dir'))) {
      throw refusal('sock_dir has no effect here; name the configuration by -c.');
    }
    const asked = countOf(named.get('count') ?? null);
    if (context.master !== undefined && !(asked > 0 && asked <= COUNT_MAX)) {
      throw refusal(`In the master state.event needs count=1 up to ${COUNT_MAX}.`);
    }
    const shown = {
      fits: tagTest(pyStr(named.get('tagmatch') ?? '*')),
      count: asked,
      quiet: isTruthy(named.get('quiet')),
      pretty: isTruthy(named.get('pretty')),
    };
    const from = named.get('from') ?? null;
    if (from === null) await showEvents(context, shown);
    else await replayEvents(context, shown, fromArgument('from', from, Date.now()));
    return { value: null };
  },
};

/**
 * A value that is no number is refused before the first event, with the text that Salt prints after
 * it.
 */
function countOf(count: SaltValue): number {
  const number = numberGiven(count);
  if (number !== undefined) return number;
  const types = `'${typeName(count)}' and 'int'`;
  throw new InvalidArgumentsError(`'>' not supported between instances of ${types}`);
}

/** Salt's expr_match: a glob, or a regular expression of the whole tag. */
function tagTest(expression: string): (tag: string) => boolean {
  let regex: ((tag: string) => boolean) | undefined;
  try {
    const compiled = compilePcreWhole(expression);
    regex = (tag) => compiled(tag);
  } catch {
    // As in Salt, an invalid regular expression is only a glob.
    regex = undefined;
  }
  return (tag) => matchGlob(expression, tag) || regex?.(tag) === true;
}

interface Shown {
  readonly fits: (tag: string) => boolean;
  readonly count: number;
  readonly quiet: boolean;
  readonly pretty: boolean;
}

/** True for events of the run itself: its output is an event too. */
function isOwn({ master }: RunnerContext, tag: string): boolean {
  return master !== undefined && tag.startsWith(`salt/run/${master.call.jid}/`);
}

async function replayEvents(
  context: RunnerContext,
  { fits, count, quiet, pretty }: Shown,
  from: ReturnType<typeof fromArgument>,
): Promise<void> {
  const { out } = context;
  const onNotice = (text: string): void => out(`# ${text}\n`);
  let left = count;
  for await (const { tag, data } of followEvents(
    pageSource(context),
    { from },
    { live: true, onNotice },
  )) {
    if (isOwn(context, tag) || !fits(tag)) continue;
    if (!quiet) out(`${tag}\t${pythonJson(printable(data), pretty)}\n`);
    if (left > 0) left -= 1;
    if (left === 0) return;
  }
}

async function showEvents(context: RunnerContext, shown: Shown): Promise<void> {
  const { master, out } = context;
  const events = master ?? context;
  const waiting: { readonly tag: string; readonly data: () => Promise<SaltMap> }[] = [];
  const news = new Wakeup();
  let leftOut = 0;
  if (events.listen === undefined) throw new Error('there are no events here');
  const listening = await events.listen((tag, data) => {
    if (isOwn(context, tag) || !shown.fits(tag)) return;
    if (waiting.length >= WAITING_MAX) leftOut += 1;
    else waiting.push({ tag, data });
    news.wake();
  });
  try {
    for (let left = shown.count; ;) {
      const next = waiting.shift();
      if (next === undefined) {
        if (leftOut > 0) out(`# ${leftOut} events came too fast and are not shown\n`);
        leftOut = 0;
        await news.wait();
        continue;
      }
      if (!shown.quiet) {
        const data = printable(await next.data());
        out(`${next.tag}\t${pythonJson(data, shown.pretty)}\n`);
      }
      if (left > 0) left -= 1;
      if (left === 0) return;
    }
  } finally {
    listening.close();
  }
}
