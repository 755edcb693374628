import { close, url } from 'node:inspector';

/** An address that no host has (RFC 5737): the inspector cannot listen there. */
const NOWHERE = '--inspect-port=192.0.2.1:9229';

/** Node's options of the inspector; a value may follow some of them as an argument of its own. */
const INSPECTOR = /^--(?:inspect(?:-brk|-wait|-brk-node|-port|-publish-uid)?|debug-port)(?:=|$)/;
const WITH_VALUE = /^--(?:inspect-port|debug-port|inspect-publish-uid)$/;
const OPENS = /^--inspect(?:-brk|-wait|-brk-node)?(?:=|$)/;

/** Splits `NODE_OPTIONS` at spaces, with quotes and backslashes (Node: node_options.cc). */
const ORDER = /(?:"(?:\\.|[^"\\])*"|[^ "])+/g;

/** The actions for SIGUSR1. */
export interface DebugSignal {
  /** Facts of the process, and those of `more` from `tellBy`. */
  facts(): object;
  /** Replaces the printing of facts at the signal. */
  takeBy(take: () => void): void;
  /** Sets the log for the signal. `print` gets the facts of the process and those of `more`. */
  reportBy(print: (text: string, facts: object) => void, more?: () => object): void;
}

/**
 * Keeps the inspector of this process and of its children closed: a client of the inspector can run
 * code with our rights. Without a listener Node opens it at SIGUSR1, and every local user can
 * connect. Salt's operators send that signal to ask for a stack dump. Here the signal prints one
 * line, on stderr until `tellBy` is called; `brine master` writes a file instead (`takeBy`). An
 * inspector that NODE_OPTIONS opened is closed. An inspector from Node's own command line stays:
 * the operator asked for it. Call this first.
 */
export function keepInspectorShut(): DebugSignal {
  let print = (text: string, facts: object): void =>
    void process.stderr.write(`${text}: ${JSON.stringify(facts)}\n`);
  let more = (): object => ({});
  let take = (): void => print('SIGUSR1 is taken', factsWith(more));
  process.on('SIGUSR1', () => take());
  const own = process.execArgv.some((argument) => OPENS.test(plain(argument)));
  // Forked processes inherit these: they may get the signal before their first line runs.
  process.execArgv = [...withoutInspector(process.execArgv), NOWHERE];
  const { NODE_OPTIONS: options } = process.env;
  if (options !== undefined) process.env['NODE_OPTIONS'] = cleanNodeOptions(options);
  if (!own && url() !== undefined) {
    close();
    print('the inspector that NODE_OPTIONS opened is closed', { options });
  }
  return {
    facts: () => factsWith(more),
    takeBy: (taker) => {
      take = taker;
    },
    reportBy: (printer, facts = more) => {
      print = printer;
      more = facts;
    },
  };
}

/** Options of Node, without those of the inspector. */
export function withoutInspector(words: readonly string[]): string[] {
  return words.filter((order, at) => {
    const before = words[at - 1];
    return (
      !INSPECTOR.test(plain(order)) && !(before !== undefined && WITH_VALUE.test(plain(before)))
    );
  });
}

/** As {@link withoutInspector}, for the text of `NODE_OPTIONS`. */
export function cleanNodeOptions(text: string): string {
  return withoutInspector(text.match(ORDER) ?? []).join(' ');
}

/** Node reads `_` as `-` in the name of an option, and ignores quotes. */
function plain(order: string): string {
  const [name = '', ...value] = order.replaceAll(/\\(.)|"/g, '$1').split('=');
  return [name.replaceAll('_', '-'), ...value].join('=');
}

function factsWith(more: () => object): object {
  const resources: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) {
    resources[name] = (resources[name] ?? 0) + 1;
  }
  const uptimeS = Math.round(process.uptime());
  const rssMb = Math.round(process.memoryUsage.rss() / 1024 / 1024);
  // The part of its life in which the event loop worked.
  const busy = Number(performance.eventLoopUtilization().utilization.toFixed(3));
  try {
    return { uptimeS, rssMb, busy, resources, ...more() };
  } catch (err) {
    // The signal must not end a service that cannot read its facts.
    return { uptimeS, rssMb, busy, resources, err: String(err) };
  }
}
