import { BUCKETS, STREAMS } from '@brine/bus';
import type { JetStreamFacts } from '@brine/bus/rpc';
import { type Finding, some } from '../findings/finding.ts';

/** Used shares of a stream's capacity. Full streams refuse returns and jobs. */
const SHARES = [
  { level: 'bad', share: 0.9 },
  { level: 'warn', share: 0.7 },
] as const;
/** A reader with this lag is slow or gone. */
const BEHIND = 10_000;
/** Streams that drop their oldest messages when full. */
const ROLLING: readonly string[] = [STREAMS.bodies];

/** Owner of each durable reader, by the prefix of its name. */
const READERS = [
  ['store', 'job-cache-returner: is PostgreSQL unreachable or slow?'],
  ['host-', 'the event-bus of that host: does it run?'],
  ['returns-', 'the event-bus of that host: does it run?'],
  ['syndic-', 'the syndic-relay: is the master above unreachable?'],
  ['reactor', 'runner-pool: does it run? See `brine run reactor.status`'],
] as const;

/** Checks that the streams exist, have room, are read, and are on all their servers. */
export function checkStreams(facts: JetStreamFacts): Finding[] {
  const streams = new Map(facts.streams.map((one) => [nameOf(one), one]));
  const findings: Finding[] = [];
  const wanted = [...Object.values(STREAMS), ...BUCKETS.map((bucket) => `KV_${bucket}`)];
  const missing = wanted.filter((name) => !streams.has(name));
  const isWhole = !Object.hasOwn(facts.unknown, 'STREAM.LIST');
  if (isWhole && missing.length > 0) {
    const text = `not there: ${some(missing)}: the event-bus makes them at its start`;
    findings.push({ level: 'bad', check: 'streams', text });
  }
  for (const [name, one] of streams) {
    findings.push(...checkRoom(name, one), ...checkCopies(name, one));
  }
  for (const [stream, readers] of Object.entries(facts.readers)) {
    findings.push(...readers.flatMap((reader) => checkReader(stream, reader)));
  }
  findings.push(...checkAccount(facts.account));
  for (const [what, why] of Object.entries(facts.unknown)) {
    findings.push({ level: 'warn', check: 'streams', text: `NATS did not return ${what}: ${why}` });
  }
  if (findings.length > 0) return findings;
  const text = `${streams.size} streams and buckets have room, NATS ${facts.server.version}`;
  return [{ level: 'ok', check: 'streams', text }];
}

type Facts = Readonly<Record<string, unknown>>;

function checkRoom(name: string, one: Facts): Finding[] {
  const [state, config] = [recordIn(one, 'state'), recordIn(one, 'config')];
  const most = numberIn(config, 'max_bytes');
  const share = most > 0 ? numberIn(state, 'bytes') / most : 0;
  const found = SHARES.find((level) => share > level.share);
  if (found === undefined || ROLLING.includes(name)) return [];
  const text = `${name} is ${Math.round(share * 100)} % full: find the reader that is behind`;
  return [{ level: found.level, check: 'stream-room', text }];
}

function checkCopies(name: string, one: Facts): Finding[] {
  const wanted = numberIn(recordIn(one, 'config'), 'num_replicas');
  if (wanted <= 1) return [];
  const cluster = recordIn(one, 'cluster');
  const followers = Array.isArray(cluster['replicas']) ? (cluster['replicas'] as Facts[]) : [];
  const behind = followers.filter((peer) => peer['offline'] === true || peer['current'] !== true);
  if (textIn(cluster, 'leader') === '') {
    const text = `${name} has no leader: more than half of its NATS servers are away`;
    return [{ level: 'bad', check: 'stream-copies', text }];
  }
  if (behind.length === 0) return [];
  const names = some(behind.map((peer) => textIn(peer, 'name')));
  const text = `${name} is not whole on ${names}: start that NATS server, or wait for it`;
  return [{ level: 'warn', check: 'stream-copies', text }];
}

function checkReader(stream: string, reader: Facts): Finding[] {
  const name = textIn(recordIn(reader, 'config'), 'durable_name');
  const pending = numberIn(reader, 'num_pending');
  if (name === '' || pending < BEHIND) return [];
  const hint = READERS.find(([start]) => name.startsWith(start))?.[1] ?? 'see its service';
  const text = `${name} is ${pending} messages behind in ${stream}; it belongs to ${hint}`;
  return [{ level: 'warn', check: 'stream-readers', text }];
}

/** Streams reserve no space, so the account may be full before any of them. */
function checkAccount(account: Facts): Finding[] {
  const most = numberIn(recordIn(account, 'limits'), 'max_storage');
  const share = most > 0 ? numberIn(account, 'storage') / most : 0;
  const found = SHARES.find((level) => share > level.share);
  if (found === undefined) return [];
  const text = `the disk quota of NATS is ${Math.round(share * 100)} % used: raise it`;
  return [{ level: found.level, check: 'stream-room', text }];
}

function nameOf(stream: Facts): string {
  return textIn(recordIn(stream, 'config'), 'name');
}

function recordIn(value: Facts, key: string): Facts {
  const found = value[key];
  return typeof found === 'object' && found !== null ? (found as Facts) : {};
}

function numberIn(value: Facts, key: string): number {
  const found = value[key];
  return typeof found === 'number' ? found : 0;
}

function textIn(value: Facts, key: string): string {
  const found = value[key];
  return typeof found === 'string' ? found : '';
}
