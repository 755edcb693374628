import { fileURLToPath } from 'node:url';
import { LISTED_GRAINS } from '@brine/api/fleet';
import type { BucketKey, Bus } from '@brine/bus';
import type { RequestOutcome } from '@brine/bus/rpc';
import { type ConfigMap, readRestCherrypy } from '@brine/config';
import { FleetIndex } from '@brine/fleet';
import { HttpListener } from '@brine/http';
import type { EventKind } from '@brine/job';
import { type Secret, SecretScanner } from '@brine/operations/secrets';
import {
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
} from '@brine/wire';
import { MasterRequests } from '../src/clients/master-requests.ts';
import { NetapiClient } from '../src/clients/netapi-client.ts';
import { addConsole } from '../src/console/console.ts';
import { addLogInElsewhere } from '../src/console/log-in-elsewhere.ts';
import type { StoredGrains } from '../src/fleet/fleet-records.ts';
import { FleetSights } from '../src/fleet/fleet-sights.ts';
import type { KeyRecord } from '../src/fleet/key-record.ts';
import { PastRuns } from '../src/fleet/past-runs.ts';
import { type LiveEvent, LiveEvents, type LivePlace } from '../src/live/live-events.ts';
import { type LiveParts, makeLiveParts } from '../src/live/live-parts.ts';
import { CALL_PLACES, Places } from '../src/places.ts';
import { RequestCounts } from '../src/rest-cherrypy/counts.ts';
import { errorPage } from '../src/rest-cherrypy/error-page.ts';
import { RestCherrypy } from '../src/rest-cherrypy/rest-cherrypy.ts';
import { Callers } from '../src/sessions/callers.ts';
import { Sessions } from '../src/sessions/sessions.ts';
import type { V1Parts } from '../src/v1/parts.ts';
import { readTemplates } from '../src/v1/site/read-templates.ts';
import { addV1 } from '../src/v1/v1.ts';

/** The build of apps/console. */
const CONSOLE = new URL('../../../apps/console/dist/site/', import.meta.url);

export const JID = '20261129204500123456';

/** A bucket in memory. */
export class MemoryBucket {
  readonly values = new Map<string, Uint8Array>();
  readonly livesMs = new Map<string, number | undefined>();

  readonly get = async (key: BucketKey) => {
    const value = this.values.get(key);
    return value === undefined ? undefined : { key, value, revision: 1, timeMs: 0 };
  };

  readonly put = async (
    key: BucketKey,
    value: Uint8Array,
    { livesMs }: { readonly livesMs?: number } = {},
  ): Promise<number> => {
    this.values.set(key, value);
    this.livesMs.set(key, livesMs);
    return 1;
  };
}

/** Answers loads as workers do, from a function. */
export class FakeMaster {
  readonly loads: SaltMap[] = [];
  readonly ids: string[] = [];
  answer: (load: SaltMap) => SaltValue | RequestOutcome | Promise<SaltValue>;
  expected = true;

  constructor(answer: FakeMaster['answer']) {
    this.answer = answer;
  }

  readonly send = async ({
    body,
    id,
  }: {
    body: Uint8Array;
    id: string;
  }): Promise<RequestOutcome> => {
    const envelope = unpack(body);
    const load = isMap(envelope) ? (mapIn(envelope, 'load') ?? mapOf({})) : mapOf({});
    this.loads.push(load);
    this.ids.push(id);
    const given = await this.answer(load);
    if (isOutcome(given)) return given;
    return { kind: 'reply', body: pack(given) };
  };
}

function isOutcome(given: SaltValue | RequestOutcome): given is RequestOutcome {
  return typeof given === 'object' && given !== null && 'kind' in given;
}

/** The events of a cluster in memory. */
export class FakeLive {
  readonly listeners = new Set<(event: LiveEvent) => void>();
  /** Called when a call begins to listen. */
  onListen: () => void = () => undefined;

  readonly isEven = true;

  readonly listen = async (onEvent: (event: LiveEvent) => void, place?: LivePlace) => {
    this.listeners.add(onEvent);
    place?.begin(NOWHERE);
    this.onListen();
    return { close: () => void this.listeners.delete(onEvent) };
  };

  close(): void {
    this.listeners.clear();
  }

  fire(tag: string, data: Readonly<Record<string, SaltValue>>, kind?: EventKind): void {
    for (const onEvent of [...this.listeners]) onEvent(eventOf(tag, data, kind));
  }

  returns(id: string, value: SaltValue, jid = JID): void {
    const data = { id, jid, return: value, retcode: 0, success: true, fun: 'test.ping' };
    this.fire(`salt/job/${jid}/ret/${id}`, data);
  }
}

/** An event as followers get it. */
export function eventOf(
  tag: string,
  data: Readonly<Record<string, SaltValue>> = {},
  kind: EventKind = 'local',
): LiveEvent {
  const map = mapOf(data);
  return {
    tag,
    kind,
    jid: undefined,
    minion: undefined,
    position: '',
    side: 'events',
    timeMs: 0,
    data: map,
    packed: pack(map),
  };
}

/** The answer of a publish. */
export function published(minions: readonly string[], missing: readonly string[] = []): SaltValue {
  const load = mapOf({ jid: JID, minions: [...minions], missing: [...missing] });
  return mapOf({ enc: 'clear', load });
}

/** The answer of a log-in. */
export function tokenOf(name: string, token = 'abc123', seconds = 3_600): SaltMap {
  const start = Date.now() / 1_000;
  return mapOf({ token, name, eauth: 'pam', start, expire: start + seconds, groups: [] });
}

const ENABLED = [
  'local',
  'local_async',
  'local_batch',
  'local_subset',
  'runner',
  'runner_async',
  'wheel',
  'wheel_async',
];

/** Settings of a scene; each has a default. */
export interface SceneOptions {
  readonly answer?: FakeMaster['answer'];
  readonly rest?: ConfigMap;
  readonly enabled?: readonly string[];
  readonly externalAuth?: Readonly<Record<string, unknown>>;
  readonly silentText?: boolean;
  readonly origins?: readonly string[];
  readonly restTimeoutS?: number;
  /** Streams for `/v1/events`; without them there are none. */
  readonly bus?: Bus;
  /** The option `saltgui_templates`. */
  readonly templates?: SaltValue;
  readonly secrets?: readonly Secret[];
  readonly examine?: V1Parts['examine'];
}

/** A position in streams without events. */
export const NOWHERE = '0-0_00000000';

/** Streams that are not there. */
const NO_BUS = new Proxy({} as Bus, {
  get: () => {
    throw new Error('no streams in this scene');
  },
});

/** The API over a master in memory. */
export class ApiScene {
  readonly master: FakeMaster;
  readonly live = new FakeLive();
  readonly bucket = new MemoryBucket();
  readonly sessions = new Sessions(this.bucket);
  readonly parts: LiveParts;
  readonly counts = new RequestCounts();
  readonly room = new Places(CALL_PLACES);
  readonly nodegroups = new Map<string, string>();
  readonly hooks: { readonly tag: string; readonly data: SaltMap }[] = [];
  readonly faults: string[] = [];
  readonly client: NetapiClient;
  readonly api: RestCherrypy;
  readonly v1: V1Parts;
  readonly fleet = new FleetIndex(LISTED_GRAINS);
  readonly keyRecords = new Map<string, KeyRecord>();
  readonly grains = new Map<string, StoredGrains>();
  readonly #bodyBytes: number | undefined;
  #listener: HttpListener | undefined;

  constructor(options: SceneOptions = {}) {
    const { externalAuth = {}, enabled = ENABLED, origins = [], rest = {} } = options;
    this.master = new FakeMaster(options.answer ?? usualAnswer);
    const requests = new MasterRequests(this.master, { recordSpan: () => undefined });
    this.client = new NetapiClient({
      requests,
      live: this.live,
      settings: SETTINGS,
      silentText: options.silentText ?? true,
      restTimeoutS: options.restTimeoutS ?? 300,
      onTrouble: (text) => void this.faults.push(text),
    });
    const read = readRestCherrypy(rest);
    this.#bodyBytes = read.bodyMaxBytes;
    const onFault = (error: unknown, request: string) =>
      void this.faults.push(`${request}: ${String(error)}`);
    const callers = new Callers(requests, this.sessions);
    const onTrouble = (text: string): void => void this.faults.push(text);
    const { bus = NO_BUS, examine = async () => [] } = options;
    const live = bus === NO_BUS ? this.live : new LiveEvents(bus, onTrouble);
    const fleet = { index: this.fleet, whole: async () => ({ index: this.fleet, asOf: NOWHERE }) };
    const sights = new FleetSights();
    this.parts = makeLiveParts({ bus, live, requests, fleet, sights, onTrouble });
    this.v1 = {
      ...this.parts,
      enabled,
      commandOptions: { timeout: 5 },
      readTrace: async (jid) => ({ jid, ...EMPTY_TRACE }),
      requests,
      sessions: this.sessions,
      callers,
      room: this.room,
      fleet,
      sights,
      pastRuns: new PastRuns(() => undefined),
      records: {
        keys: async (ids) => ids.map((id) => this.keyRecords.get(id)),
        grains: async (id) => this.grains.get(id),
      },
      client: this.client,
      origins,
      settings: { ...SETTINGS, nodegroups: this.nodegroups },
      apiAcl: read.apiAcl,
      ...logInsOf(externalAuth),
      release: '0.2.0',
      host: 'host1',
      examine,
      secrets: () => new SecretScanner(options.secrets ?? []),
      templates: readTemplates(options.templates).templates,
      onFault,
    };
    this.api = new RestCherrypy({
      client: this.client,
      enabled,
      requests,
      sessions: this.sessions,
      externalAuth,
      apiAcl: read.apiAcl,
      callers,
      ...this.parts,
      hooks: {
        append: async ({ tag, body }) => void this.hooks.push({ tag, data: mapFrom(body) }),
      },
      counts: this.counts,
      room: this.room,
      origins,
      options: read,
      onFault,
    });
  }

  get followers(): LiveParts['followers'] {
    return this.parts.followers;
  }

  /** Serves it; resolves with its address. */
  async serve(tls?: { readonly crt: string; readonly key: string }): Promise<string> {
    this.#listener = await HttpListener.start({
      address: { host: '127.0.0.1', port: 0, ...(tls === undefined ? {} : { tls }) },
      limits: {
        drainMs: 50,
        ...(this.#bodyBytes === undefined ? {} : { bodyBytes: this.#bodyBytes }),
      },
      build: async (app) => {
        await this.api.build(app);
        await addV1(app, '', this.v1);
        await addConsole(app, '', fileURLToPath(CONSOLE));
        if (this.v1.logInElsewhere !== undefined) addLogInElsewhere(app, '', this.v1);
      },
      errorPage: (status) => errorPage(status, ''),
      onTaken: (reason) => void this.faults.push(reason),
      onListening: () => undefined,
    });
    return this.#listener.endpoint ?? '';
  }

  /** Its address once it is served. */
  get url(): string {
    return this.#listener?.endpoint ?? '';
  }

  /** Fires the event of a job that a user began. */
  announce(jid: string, user: string): void {
    const data = { jid, user, fun: 'test.ping', minions: ['web1'] };
    this.live.fire(`salt/job/${jid}/new`, data, 'job');
  }

  /** The id of a new session. */
  logIn(user = 'alice', seconds = 3_600): Promise<string> {
    const start = Date.now() / 1_000;
    return this.sessions.open({
      token: 'abc123',
      user,
      eauth: 'pam',
      start,
      expire: start + seconds,
    });
  }

  async close(): Promise<void> {
    this.parts.close();
    await this.#listener?.close();
  }
}

function logInsOf(externalAuth: object): Pick<V1Parts, 'logInModules' | 'logInElsewhere'> {
  return {
    logInModules: Object.keys(externalAuth).filter((name) => name !== 'oidc'),
    logInElsewhere: Object.hasOwn(externalAuth, 'oidc') ? 'Example' : undefined,
  };
}

const EMPTY_TRACE = {
  traceId: 'none',
  roots: [],
  spans: 0,
  orphans: 0,
  returnsLeftOut: 0,
  spansLeftOut: 0,
};

const SETTINGS = {
  user: 'root',
  nodegroups: new Map<string, string>(),
  configFile: '/etc/salt/master',
  timeoutMs: 60,
  gatherJobTimeoutMs: 60,
  orderMasters: false,
  syndicWaitMs: 50,
  sockDir: '/var/run/salt/master',
};

function mapFrom(body: Uint8Array): SaltMap {
  const value = unpack(body);
  return isMap(value) ? value : mapOf({});
}

/** Log-ins of `alice` are valid; publishes reach two minions; each run of a runner begins. */
export function usualAnswer(load: SaltMap): SaltValue {
  switch (textOf(load, 'cmd')) {
    case 'mk_token':
      return load.get('password') === 'right' ? tokenOf(textOf(load, 'username') ?? '') : mapOf({});
    case 'get_token':
      return load.get('token') === 'abc123' ? tokenOf('alice') : mapOf({});
    case 'brine_rights':
      return mapOf({ acl: null, principal: 'alice' });
    case 'publish':
      return published(['web1', 'web2']);
    case 'runner':
      return mapOf({ tag: `salt/run/${JID}`, jid: JID });
    case 'wheel':
      return mapOf({
        tag: `salt/wheel/${JID}`,
        data: mapOf({ return: mapOf({ minions: ['web1'] }) }),
      });
    default:
      return true;
  }
}
