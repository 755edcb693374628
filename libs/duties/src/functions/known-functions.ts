import type { ClusterTask } from '@brine/cluster-work';
import { RUNNERS, type SiteDocs, WHEELS } from '@brine/runners';
import type { Trouble } from '@brine/tasks';
import { listOf, mapOf, pack, type SaltMap, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { AskedMinion } from './ask-minion.ts';
import { type FunctionRows, functionRows, parameterOf } from './function-rows.ts';

/** The functions that one minion has. */
export interface MinionFunctions {
  readonly release: string;
  readonly rows: FunctionRows;
}

export interface KnownFunctionsParts {
  /** Accepted, connected minions with their releases, newest first. */
  readonly minions: () => Promise<readonly AskedMinion[]>;
  /** What a minion describes; undefined if it gives none of it. */
  readonly ask: (minion: AskedMinion) => Promise<FunctionRows | undefined>;
  /** The site's functions in Python, if the master has some. */
  readonly site: SiteDocs | undefined;
  /** Answers questions about functions until it is closed. */
  readonly serve: (answer: (question: SaltMap) => Promise<SaltMap>) => {
    readonly close: () => Promise<void>;
  };
  readonly onTrouble: Trouble;
  readonly now: () => number;
}

const FUNCTIONS = 'functions';
/** All of a release have the same documentation. */
const ASKED_MAX = 5;
/** Age at which what a minion described is asked again, ms. */
const AGE_MS = 3_600_000;
/** Interval at which minions are looked at while they are asked about, ms. */
const LOOK_MS = 60_000;
/** Bytes of the rows of one answer, packed. At least one row is in it. */
const ANSWER_BYTES = 1024 * 1024;

/**
 * The functions that the master, its site and its minions have, with their documentation: in one
 * process of the cluster at a time. A minion is asked in the background, while it is asked about.
 */
export class KnownFunctions {
  readonly #parts: KnownFunctionsParts;
  #minion: (MinionFunctions & { readonly askedMs: number }) | undefined;
  #looking: Promise<void> | undefined;
  #lookedMs = -Infinity;
  #all: { readonly of: readonly unknown[]; readonly rows: FunctionRows } | undefined;

  constructor(parts: KnownFunctionsParts) {
    this.#parts = parts;
  }

  /** The cluster task that answers. */
  get task(): ClusterTask {
    return { kind: FUNCTIONS, name: FUNCTIONS, work: ({ released }) => this.#work(released) };
  }

  /** For the status of the process that answers. */
  status(): object {
    const { release, rows } = this.#minion ?? {};
    return release === undefined ? {} : { release, functions: rows?.size };
  }

  /**
   * `{kind?, q?, after?}` → `{names, complete}`: what is known now, as `kind name`, in order; `q`
   * is a part of the name. `complete` is false while no minion has described its functions.
   * `{names}` → `{rows}`: the first of them that fit into one answer.
   */
  async answer(question: SaltMap): Promise<SaltMap> {
    const rows = await this.#rows();
    const wanted = listOf(question, 'names');
    if (wanted !== undefined) {
      const found = wanted.flatMap((name) => rows.get(pyStr(name)) ?? []);
      return mapOf({ rows: fitting(found) });
    }
    this.#look();
    const [kind, q, after] = [
      textOf(question, 'kind'),
      textOf(question, 'q') ?? '',
      textOf(question, 'after') ?? '',
    ];
    const names = [...rows].flatMap(([name, row]) => {
      const isOfKind = kind === undefined || row.get('kind') === kind;
      return isOfKind && name > after && textOf(row, 'name')?.includes(q) ? [name] : [];
    });
    return mapOf({ names, complete: this.#minion !== undefined });
  }

  /** Resolves when no minion is being asked. */
  async settled(): Promise<void> {
    await this.#looking;
  }

  async #work(released: AbortSignal): Promise<void> {
    const served = this.#parts.serve((question) => this.answer(question));
    await new Promise<void>((resolve) => {
      if (released.aborted) resolve();
      released.addEventListener('abort', () => resolve(), { once: true });
    });
    await served.close();
    this.#minion = undefined;
  }

  /** All rows in their order. Functions of the table override those of the site. */
  async #rows(): Promise<FunctionRows> {
    const { site } = this.#parts;
    const [runners, wheels] = [await site?.docs('runner'), await site?.docs('wheel')];
    const of = [runners, wheels, this.#minion];
    if (this.#all?.of.every((one, at) => one === of[at]) === true) return this.#all.rows;
    const ofSite = functionRows(
      [
        { kind: 'runner', docs: runners ?? mapOf({}) },
        { kind: 'wheel', docs: wheels ?? mapOf({}) },
      ],
      'site',
    );
    const all = [...ofSite.rows, ...tableRows(), ...(this.#minion?.rows ?? [])];
    const rows = new Map([...new Map(all)].sort(([a], [b]) => (a < b ? -1 : 1)));
    this.#all = { of, rows };
    return rows;
  }

  /** Asks a minion in the background, if that is due and none is being asked. */
  #look(): void {
    const { now, onTrouble } = this.#parts;
    if (this.#looking !== undefined || now() - this.#lookedMs < LOOK_MS) return;
    this.#looking = this.#ask()
      .catch((err: unknown) => onTrouble('no minion was asked for its functions', err))
      .finally(() => {
        this.#lookedMs = now();
        this.#looking = undefined;
      });
  }

  async #ask(): Promise<void> {
    const { minions, ask, now } = this.#parts;
    const newest = (await minions()).slice(0, ASKED_MAX);
    const known = this.#minion;
    const isOld = known === undefined || now() - known.askedMs >= AGE_MS;
    for (const minion of newest) {
      if (!isOld && !minion.isNewer(known.release)) return;
      const rows = await ask(minion);
      if (rows === undefined) continue;
      this.#minion = { release: minion.release, rows, askedMs: now() };
      return;
    }
  }
}

/** The functions of Brine's own table. */
function tableRows(): (readonly [string, SaltMap])[] {
  const tables = [
    ['runner', RUNNERS],
    ['wheel', WHEELS],
  ] as const;
  return tables.flatMap(([kind, table]) =>
    [...table.values()].map(({ name, parameters, open = null, doc }) => {
      const shown = parameters.map(([one, preset]) => parameterOf(one, preset));
      return [
        `${kind} ${name}`,
        mapOf({ kind, name, parameters: shown, open, doc, source: 'brine' }),
      ] as const;
    }),
  );
}

function fitting(rows: readonly SaltMap[]): SaltMap[] {
  let bytes = 0;
  const beyond = rows.findIndex((row, at) => (bytes += pack(row).length) > ANSWER_BYTES && at > 0);
  return beyond < 0 ? [...rows] : rows.slice(0, beyond);
}
