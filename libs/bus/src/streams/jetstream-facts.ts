import type { Bus } from '../connection/connect.ts';
import { asError } from '../connection/errors.ts';
import { askJetStream, isRecord } from '../connection/js-api.ts';
import { STREAMS } from '../subjects/names.ts';

/** Streams and readers that are reported at most: Brine has 18 streams, and some readers a host. */
const STREAMS_MAX = 200;
const READERS_MAX = 500;

type Facts = Readonly<Record<string, unknown>>;

/** The server's report about JetStream, for people. The records are the server's own. */
export interface JetStreamFacts {
  readonly server: { readonly name: string; readonly version: string; readonly cluster: string };
  /** The usage of the account, and its limits. */
  readonly account: Facts;
  /** State and configuration of each stream, buckets too. */
  readonly streams: readonly Facts[];
  /** The readers of events, publications and reactions, by stream. */
  readonly readers: Readonly<Record<string, readonly Facts[]>>;
  /** The parts that the server did not report, with the reason. */
  readonly unknown: Readonly<Record<string, string>>;
}

/** Asks JetStream for its state. It needs the rights of `admin` or `event-bus`. Never rejects. */
export async function jetStreamFacts(bus: Bus): Promise<JetStreamFacts> {
  const unknown: Record<string, string> = {};
  const { info } = bus.connection;
  const account = await askFor(bus, 'INFO', undefined, unknown);
  const streams = await pages(bus, 'STREAM.LIST', 'streams', STREAMS_MAX, unknown);
  const readers: Record<string, readonly Facts[]> = {};
  for (const name of [STREAMS.events, STREAMS.publications, STREAMS.reactions, STREAMS.due]) {
    readers[name] = await pages(bus, `CONSUMER.LIST.${name}`, 'consumers', READERS_MAX, unknown);
  }
  const { server_name: name = '', version = '', cluster = '' } = info ?? {};
  return { server: { name, version, cluster }, account, streams, readers, unknown };
}

async function pages(
  bus: Bus,
  verb: string,
  part: 'streams' | 'consumers',
  most: number,
  unknown: Record<string, string>,
): Promise<readonly Facts[]> {
  const found: Facts[] = [];
  for (;;) {
    const answer = await askFor(bus, verb, { offset: found.length }, unknown);
    const list = answer[part];
    const page = Array.isArray(list) ? list.filter(isRecord) : [];
    found.push(...page);
    if (found.length >= most) unknown[verb] = `only the first ${most} are listed`;
    const isLast = page.length === 0 || found.length >= Number(answer['total'] ?? 0);
    if (isLast || found.length >= most) return found.slice(0, most);
  }
}

async function askFor(
  bus: Bus,
  verb: string,
  question: object | undefined,
  unknown: Record<string, string>,
): Promise<Facts> {
  try {
    const answer = await askJetStream(bus, verb, question);
    if (answer.ok) return answer.value;
    unknown[verb] = answer.text;
  } catch (error) {
    unknown[verb] = asError(error).message;
  }
  return {};
}
