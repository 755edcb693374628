import { Bucket, type Bus } from '@brine/bus';
import { reactionsWaiting } from '@brine/bus/reactions';
import { broadcastToWorkers, onBroadcast } from '@brine/bus/rpc';
import { saltValue } from '@brine/config';
import { SecretBox } from '@brine/crypt';
import { readBounded } from '@brine/files';
import { ReactorMap, withAdded, withRemoved } from '@brine/reactor';
import type { ReactorAdmin } from '@brine/runners';
import type { ServiceContext } from '@brine/service';
import { errorText } from '@brine/tasks';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { loadYaml, YamlWork } from '@brine/yaml';
import { ReactorState, type SharedReactor } from './reactor-state.ts';
import { asksForReactor } from './settings.ts';

export interface ReactorListParts {
  readonly context: Pick<ServiceContext, 'options' | 'log'>;
  readonly bus: Bus;
  /** The master's private key, which seals failures. */
  readonly pem: string;
}

/** The current list of reactions. */
export interface WantedReactions {
  readonly map: ReactorMap;
  readonly isLeader: boolean;
  /** Identifies the list; empty before the first read. */
  readonly key: string;
}

/** Interval at which the list is read, without a broadcast of a change. */
const REFRESH_MS = 5_000;
/** The kind of the broadcast about a change. */
const CHANGED = 'reactor';
/** Size limit of a map of reactors in its own file. */
const MAP_MAX_BYTES = 4 * 1024 * 1024;

/** The list of reactors: the configuration, with the changes of runners. */
export class ReactorList {
  /** For the runner `reactor`, and for stock runners of this host. */
  readonly admin: ReactorAdmin;
  readonly state: ReactorState;
  readonly #parts: ReactorListParts;
  #wanted: WantedReactions = { map: new ReactorMap(null), isLeader: true, key: '' };
  #want: ((wanted: WantedReactions) => Promise<void>) | undefined;
  #refreshing: Promise<void> | undefined;
  /** The last read error; it is logged once. */
  #trouble = '';

  constructor(parts: ReactorListParts) {
    this.#parts = parts;
    const box = SecretBox.fromMasterKey(parts.pem, 'reactor');
    this.state = new ReactorState(new Bucket(parts.bus, 'brine_reactor'), box);
    this.admin = this.#adminOf(asksForReactor(parts.context.options));
  }

  get wanted(): WantedReactions {
    return this.#wanted;
  }

  /**
   * Reads the list periodically and calls `want` with it, until the returned function is called.
   */
  follow(want: (wanted: WantedReactions) => Promise<void>): () => void {
    this.#want = want;
    const { bus, context } = this.#parts;
    const stopFollowing = onBroadcast(
      bus,
      (broadcast) => {
        if (broadcast.get('kind') === CHANGED) void this.refreshed();
      },
      (err) => context.log.warn({ err }, 'changes of the reactor by others are not received'),
    );
    const timer = setInterval(() => void this.refreshed(), REFRESH_MS);
    void this.refreshed();
    return () => {
      clearInterval(timer);
      stopFollowing();
    };
  }

  /** Reads the list again. Never rejects: after a failure the last list stays in force. */
  async refreshed(): Promise<void> {
    if (!this.admin.isRunning) return;
    this.#refreshing ??= this.#refresh()
      .catch((err: unknown) => {
        const trouble = errorText(err);
        if (trouble === this.#trouble) return;
        this.#trouble = trouble;
        this.#parts.context.log.warn({ err }, 'the list of reactors could not be read again');
      })
      .finally(() => (this.#refreshing = undefined));
    await this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const shared = await this.state.shared();
    const configured = await this.#configured();
    const map = new ReactorMap(configured, shared.changes);
    const key = pyRepr([JSON.stringify(shared), ...map.list()]);
    if (key !== this.#wanted.key) {
      const isNew = this.#wanted.key === '';
      this.#wanted = { map, isLeader: shared.isLeader, key };
      this.#logList(map, shared, isNew);
    }
    await this.#want?.(this.#wanted);
    this.#trouble = '';
  }

  /** The list in the configuration; a text is the name of its file. */
  async #configured(): Promise<SaltValue> {
    const { reactor } = this.#parts.context.options;
    if (typeof reactor !== 'string') return saltValue(reactor);
    const bytes = await readBounded(reactor, MAP_MAX_BYTES);
    if (bytes === undefined) throw new Error(`Failed to read reactor map: "${reactor}"`);
    return loadYaml(bytes.toString('utf8'), YamlWork.ofFile());
  }

  #logList(map: ReactorMap, { changes, isLeader }: SharedReactor, isNew: boolean): void {
    const { log } = this.#parts.context;
    for (const problem of map.problems) log.error(problem);
    if (!isNew || !this.admin.isRunning) return;
    for (const glob of changes.removed) {
      log.warn(`reactor: '${glob}' is off since reactor.delete; reactor.add brings it back`);
    }
    if (!isLeader) log.warn('no event is reacted to since reactor.set_leader False');
  }

  #adminOf(isRunning: boolean): ReactorAdmin {
    const { state } = this;
    const changed = (result: SharedReactor | string, comment: string): SaltMap => {
      if (typeof result === 'string') return mapOf({ status: false, comment: result });
      broadcastToWorkers(this.#parts.bus, mapOf({ kind: CHANGED }));
      return mapOf({ status: true, comment });
    };
    const withChanges = async (
      make: (shared: SharedReactor, map: ReactorMap) => SharedReactor['changes'] | string,
      comment: string,
    ): Promise<SaltMap> => {
      const configured = await this.#configured();
      const result = await state.change((shared) => {
        const changes = make(shared, new ReactorMap(configured, shared.changes));
        return typeof changes === 'string' ? changes : { ...shared, changes };
      });
      await this.refreshed();
      return changed(result, comment);
    };
    return {
      isRunning,
      list: async () => {
        await this.#refresh();
        return this.#wanted.map.list();
      },
      add: (event, reactors) =>
        withChanges(
          ({ changes }, map) => withAdded(changes, map, event, reactors),
          'Reactor added.',
        ),
      remove: (event) =>
        withChanges(({ changes }, map) => withRemoved(changes, map, event), 'Reactor deleted.'),
      isLeader: async () => (await state.shared()).isLeader,
      setLeader: async (isLeader) => {
        changed(await state.change((shared) => ({ ...shared, isLeader })), '');
      },
      failures: () => state.failures(),
      waiting: () => reactionsWaiting(this.#parts.bus),
    };
  }
}
