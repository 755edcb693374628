import { pack, type SaltValue, unpack } from '@brine/wire';

/**
 * How many connections a place has now, and in reports of changes how many came since the report
 * before. A connection that came as another one ended shows in nothing else.
 */
export type PlaceCount = readonly [place: string, count: number, came?: number];

/** A publisher reports its connections to the owner of presence. */
export type PublisherReport = {
  /** The process: each start of a publisher has a name of its own. */
  readonly by: string;
  readonly host: string;
  /** Reports of a process are numbered without a gap. */
  readonly n: number;
} & (
  | {
      /** What changed. Without places it is a sign of life. */
      readonly kind: 'changes';
      readonly places: readonly PlaceCount[];
    }
  | {
      /** A part of the list of all places; the parts follow each other. */
      readonly kind: 'whole';
      readonly part: number;
      readonly of: number;
      readonly places: readonly PlaceCount[];
    }
  /** It ends, and so do its connections. */
  | { readonly kind: 'bye' }
);

/** A minion proved itself to a process. */
export interface Proof {
  readonly id: string;
  /** As the gateway saw it; empty where it is not known, or not proven to be the minion's. */
  readonly address: string;
  /** How long before the message to the owner, in ms. */
  readonly agoMs: number;
  /** It answered a question of the owner: it receives what is published. */
  readonly answers: boolean;
}

/** Places of one report: some 90 KB at most. */
export const PLACES_PER_REPORT = 1_500;
/** Proofs of one message. */
export const PROOFS_PER_MESSAGE = 2_000;
/** A place of a longer name is not one of ours. */
const PLACE_MAX = 128;
const NAME_MAX = 256;
const PARTS_MAX = 10_000;
/** The form of the messages. A message of another form is not read. */
const VERSION = 1;
const KINDS = ['changes', 'whole', 'bye'] as const;

/** Packs the report of a publisher. */
export function packReport(report: PublisherReport): Buffer {
  const { kind, by, host, n } = report;
  const [part, of] = kind === 'whole' ? [report.part, report.of] : [0, 1];
  const places =
    kind === 'bye' ? [] : report.places.flatMap(([place, count, came = 0]) => [place, count, came]);
  return pack([VERSION, kind, by, host, n, part, of, places]);
}

/** Reads the report of a publisher; undefined for anything else. */
export function readReport(data: Uint8Array): PublisherReport | undefined {
  const parts = listIn(data);
  if (parts?.[0] !== VERSION) return undefined;
  const [, kind, by, host, n, part, of, flat] = parts;
  const known = KINDS.find((one) => one === kind);
  if (known === undefined || !isName(by) || !isName(host) || !isCount(n)) return undefined;
  const head = { by, host, n };
  if (known === 'bye') return { ...head, kind: known };
  const places = readPlaces(flat);
  if (places === undefined) return undefined;
  if (known === 'changes') return { ...head, kind: known, places };
  if (!isCount(part) || !isCount(of) || part >= of || of > PARTS_MAX) return undefined;
  return { ...head, kind: known, part, of, places };
}

/** Packs the proofs that a process got. */
export function packProofs(proofs: readonly Proof[]): Buffer {
  const flat = proofs.flatMap(({ id, address, agoMs, answers }) => [id, address, agoMs, answers]);
  return pack([VERSION, flat]);
}

/** Reads the proofs that a process got; undefined for anything else. */
export function readProofs(data: Uint8Array): readonly Proof[] | undefined {
  const parts = listIn(data);
  const flat = parts?.[1];
  if (parts?.[0] !== VERSION || !Array.isArray(flat)) return undefined;
  const proofs: Proof[] = [];
  for (let at = 0; at + 3 < flat.length; at += 4) {
    const [id, address, agoMs, answers] = flat.slice(at, at + 4);
    if (!isName(id) || typeof address !== 'string' || !isCount(agoMs)) return undefined;
    proofs.push({ id, address, agoMs, answers: answers === true });
  }
  return proofs;
}

function readPlaces(flat: SaltValue | undefined): readonly PlaceCount[] | undefined {
  if (!Array.isArray(flat)) return undefined;
  const places: PlaceCount[] = [];
  for (let at = 0; at + 2 < flat.length; at += 3) {
    const [place, count, came] = flat.slice(at, at + 3);
    if (typeof place !== 'string' || place.length > PLACE_MAX) return undefined;
    if (!isCount(count) || !isCount(came)) return undefined;
    places.push([place, count, came]);
  }
  return places;
}

function listIn(data: Uint8Array): readonly SaltValue[] | undefined {
  try {
    const value = unpack(data);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // Its reader ignores unreadable messages.
  }
}

function isName(value: SaltValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= NAME_MAX;
}

function isCount(value: SaltValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
