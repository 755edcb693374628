import type { BrineMaster } from '../brine/brine-master.ts';
import { formsOf, type SoughtSecret } from './forms.ts';
import {
  archiveOf,
  commandLinesOf,
  filesBelow,
  type SinkContent,
  statusOf,
  streamsOf,
  tablesOf,
} from './sink-contents.ts';
import { storesWhat } from './stored-secrets.ts';

/** Secrets that may be in some sinks, and why. */
export interface AllowedPlace {
  /** Matches names of sinks, as `file master/cache/.root_key`. */
  readonly sinks: RegExp;
  /** Matches names of secrets. */
  readonly secrets: RegExp;
  readonly why: string;
}

/** A sink with a secret; the secret itself is nowhere in this. */
export interface FoundSecret {
  readonly sink: string;
  readonly secret: string;
  /** Its form there, as `JSON`. */
  readonly form: string;
}

/** The result of a search. */
export interface SinkSearch {
  /** In no allowed place. */
  readonly leaks: readonly FoundSecret[];
  /** In an allowed place: proves that the search works. */
  readonly allowed: readonly FoundSecret[];
  /** Kinds of sinks and how many of each were searched, as `stream EVENTS`. */
  readonly searched: ReadonlyMap<string, number>;
}

type Contents = AsyncIterable<SinkContent> | Iterable<SinkContent>;

/** Further sinks of a search, and its allowed places. */
export interface SinkSearchOptions {
  readonly allow?: readonly AllowedPlace[];
  /** Sinks of the test itself: events that it read, and requests that its servers received. */
  readonly more?: Contents;
}

/**
 * Searches all outputs of a running master for secrets in any form: files of its sandbox (state,
 * caches, logs, traces, data of NATS and PostgreSQL), every stream and bucket, every column of
 * every table, command lines, status, a support bundle and a backup.
 */
export async function searchSinks(
  master: BrineMaster,
  secrets: readonly SoughtSecret[],
  { allow = [], more = [] }: SinkSearchOptions = {},
): Promise<SinkSearch> {
  const forms = secrets.flatMap(formsOf);
  const found = { leaks: new Map<string, FoundSecret>(), allowed: new Map<string, FoundSecret>() };
  const searched = new Map<string, number>();
  const search = async (contents: Contents): Promise<void> => {
    for await (const { sink, bytes } of contents) {
      const kind = kindOf(sink);
      searched.set(kind, (searched.get(kind) ?? 0) + 1);
      for (const { secret, form } of storesWhat(bytes, forms)) {
        const may = allow.some((one) => one.sinks.test(sink) && one.secrets.test(secret));
        found[may ? 'allowed' : 'leaks'].set(`${sink}\0${secret}`, { sink, secret, form });
      }
    }
  };
  await search(more);
  // One after the other: the pieces are large, and each is freed before the next is read.
  await search(streamsOf(master));
  await search(tablesOf(master));
  await search(commandLinesOf(master));
  await search(statusOf(master));
  await search(archiveOf(master, 'support-bundle'));
  await search(archiveOf(master, 'backup'));
  await search(filesBelow(master.sandbox.dir));
  return { leaks: [...found.leaks.values()], allowed: [...found.allowed.values()], searched };
}

/** Lines for people, each with a sink. */
export function foundLines(found: readonly FoundSecret[]): string[] {
  return found.map(({ sink, secret, form }) => `${secret} in ${sink} (${form})`);
}

/** The first two parts of the name, so that a test can see that a kind of sink was searched. */
function kindOf(sink: string): string {
  const [first = '', second = ''] = sink.split(' ');
  return first === 'file' || first === 'event' ? first : `${first} ${second}`;
}
