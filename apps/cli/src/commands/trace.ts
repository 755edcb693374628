import { setTimeout as sleep } from 'node:timers/promises';
import { isJid } from '@brine/job';
import { formatTrace, readTrace, type Trace, traceDir, type TraceNode } from '@brine/telemetry';
import { EXIT } from '../exit-codes.ts';
import { findMaster } from '../find-master.ts';
import type { ApiOption } from '../master-place.ts';
import { flag, isOn } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

/** Services write spans every 250 ms: more may follow spans younger than this. */
const SETTLE_MS = 400;
/** Longest wait while returns keep coming. */
const SETTLE_WITHIN_MS = 2_000;

const DESCRIPTION = `Shows the way of one job through all services, with times.

It reads the trace files of this host (<cachedir>/traces). Services on other hosts have files of
their own. With a collector (OTEL_EXPORTER_OTLP_ENDPOINT) there are no files: the command prints
the trace id to look for at the collector.`;

/** `brine trace <jid>`: shows the path of a job through all services, as a tree with times. */
export async function runTrace(
  args: readonly string[],
  terminal: Terminal,
  api?: ApiOption,
): Promise<number> {
  const parser = new OptionParser(
    brineForm(
      'trace',
      DESCRIPTION,
      [flag(['--json'], 'json', 'Print the tree of spans as one JSON object.')],
      '[options] <jid>',
    ),
  );
  const options = parser.parse(args);
  const [jid, ...more] = options.args;
  if (jid === undefined || more.length > 0) throw parser.error('one job id is needed');
  if (!isJid(jid)) throw parser.error(`'${jid}' is not a valid JID`);
  const codes = { refused: EXIT.generic, unreachable: EXIT.generic };
  const place = await findMaster(options, terminal, api, codes);
  const read = (): Promise<Trace> =>
    place.api?.readTrace(jid) ?? readTrace(traceDir(place.config.cachedir), jid);
  const trace = await settledTrace(read);
  if (isOn(options, 'json')) terminal.out(`${JSON.stringify(trace, undefined, 2)}\n`);
  else {
    terminal.out(formatTrace(trace));
    if (trace.spans === 0) terminal.out(whereElse(trace));
  }
  return trace.spans > 0 ? EXIT.ok : EXIT.noReturn;
}

/** Reads the trace until no more spans are expected. */
async function settledTrace(read: () => Promise<Trace>): Promise<Trace> {
  const until = Date.now() + SETTLE_WITHIN_MS;
  for (;;) {
    const trace = await read();
    const young = Date.now() - newest(trace.roots) < SETTLE_MS;
    if (!young || Date.now() >= until) return trace;
    await sleep(SETTLE_MS);
  }
}

function newest(nodes: readonly TraceNode[]): number {
  return nodes.reduce((latest, node) => Math.max(latest, node.endMs, newest(node.children)), 0);
}

function whereElse({ traceId }: Trace): string {
  const collector = process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const place = collector
    ? `at the collector ${new URL(collector).host}`
    : 'at a collector, if any';
  return (
    `Its trace id is ${traceId}: look ${place}, or on the hosts of other services. ` +
    'brine.trace may be off, or its files were removed: a host keeps 128 MiB of them.\n'
  );
}
