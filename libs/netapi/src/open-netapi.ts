import { Bucket, type Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import type { RequestSender } from '@brine/bus/rpc';
import type { JobRecords } from '@brine/client';
import { clientSettings } from '@brine/client';
import {
  type MasterOptions,
  nodegroupsOf,
  oidcSettings,
  optionsForCallers,
  readRestCherrypy,
  type RestCherrypyOptions,
  SERVED,
} from '@brine/config';
import { knownSecrets } from '@brine/config/reference';
import type { Spans } from '@brine/gateway';
import type { HttpApp } from '@brine/http';
import { SecretScanner } from '@brine/operations/secrets';
import { readTrace, traceDir } from '@brine/telemetry';
import { MasterRequests } from './clients/master-requests.ts';
import { NetapiClient, type NetapiClientParts } from './clients/netapi-client.ts';
import { addConsole } from './console/console.ts';
import { addLogInElsewhere } from './console/log-in-elsewhere.ts';
import { FleetFeed } from './fleet/fleet-feed.ts';
import { FleetRecords } from './fleet/fleet-records.ts';
import { FleetSights } from './fleet/fleet-sights.ts';
import { PastRuns } from './fleet/past-runs.ts';
import type { Followers } from './live/followers.ts';
import { LiveEvents } from './live/live-events.ts';
import { makeLiveParts } from './live/live-parts.ts';
import { CALL_PLACES, Places } from './places.ts';
import { RequestCounts } from './rest-cherrypy/counts.ts';
import { errorPage } from './rest-cherrypy/error-page.ts';
import { RestCherrypy } from './rest-cherrypy/rest-cherrypy.ts';
import { Callers } from './sessions/callers.ts';
import { Sessions } from './sessions/sessions.ts';
import { commandOptions } from './v1/commands/command-options.ts';
import { examineHost } from './v1/site/examine-host.ts';
import { readTemplates, TEMPLATES } from './v1/site/read-templates.ts';
import { addV1 } from './v1/v1.ts';

/** What the API works with. */
export interface NetapiParts {
  readonly spans: Spans;
  readonly options: MasterOptions;
  /** The release of this service, for the document of `/v1`. */
  readonly release: string;
  /** Where the pages of the console are built. */
  readonly consoleDir: string;
  readonly bus: Bus;
  readonly sender: RequestSender;
  readonly onTrouble: (text: string, error: unknown) => void;
}

/** What salt-api does, for any number of addresses. */
export interface Netapi {
  readonly rest: RestCherrypyOptions;
  /** Adds the routes for one address; `isOwn`: that of `brine.http`, which has no prefix. */
  build(app: HttpApp, isOwn: boolean): Promise<void>;
  /** The page of an error, for requests that reach no route. */
  errorPage(status: number): string;
  status(): object;
  readonly counts: RequestCounts;
  readonly followers: Followers;
  readonly room: Places;
  /** Ends streams of events. */
  close(): void;
}

/** Joins the parts of the API. */
export function openNetapi(given: NetapiParts): Netapi {
  const { options, release, consoleDir, bus, sender, spans, onTrouble } = given;
  const rest = readRestCherrypy(options.restCherrypy);
  const requests = new MasterRequests(sender, spans);
  const sessions = new Sessions(new Bucket(bus, 'brine_http_sessions'));
  const live = new LiveEvents(bus, onTrouble);
  const fleet = new FleetFeed({ bus, live, onTrouble });
  const sights = new FleetSights();
  const pastRuns = new PastRuns(onTrouble);
  const liveParts = makeLiveParts({ bus, live, requests, fleet, sights, onTrouble });
  const { followers } = liveParts;
  const counts = new RequestCounts();
  const room = new Places(CALL_PLACES);
  const known = ofOptions(options, onTrouble);
  const { settings } = known;
  const parts = {
    ...known,
    client: clientOf(options, { requests, live, settings, onTrouble }),
    requests,
    sessions,
    apiAcl: rest.apiAcl,
    callers: new Callers(requests, sessions),
    ...liveParts,
    fleet,
    records: new FleetRecords(bus),
    sights,
    pastRuns,
    hooks: new EventWriter(bus),
    counts,
    room,
    onFault: (error: unknown, request: string) => onTrouble(`${request} failed`, error),
    release,
  };
  return {
    rest,
    counts,
    followers,
    build: async (app, isOwn) => {
      const own = isOwn ? { ...rest, rootPrefix: '' } : rest;
      await new RestCherrypy({ ...parts, options: own }).build(app);
      await addV1(app, own.rootPrefix, parts);
      await addConsole(app, own.rootPrefix, consoleDir);
      if (parts.logInElsewhere !== undefined) addLogInElsewhere(app, own.rootPrefix, parts);
    },
    errorPage: (status) => errorPage(status, ''),
    room,
    status: () => ({
      calls: room.stats,
      requests: { current: counts.current, total: counts.total },
      events: { ...live.stats, ...followers.stats },
      fleet: fleet.stats,
    }),
    close: () => {
      fleet.close();
      pastRuns.close();
      liveParts.close();
    },
  };
}

/** What the options of the master give. */
function ofOptions(options: MasterOptions, onTrouble: NetapiParts['onTrouble']) {
  const { user, externalAuth, netapiEnableClients: enabled, brine, cachedir } = options;
  return {
    settings: clientSettings(options, { user, nodegroups: nodegroupsOf(options.nodegroups) }),
    enabled,
    externalAuth,
    logInModules: SERVED.external_auth.filter(
      (name) => name !== 'oidc' && Object.hasOwn(externalAuth, name),
    ),
    logInElsewhere: oidcSettings(options)?.name,
    origins: brine.http.origins,
    host: brine.host,
    commandOptions: commandOptions(options),
    readTrace: (jid: string) => readTrace(traceDir(cachedir), jid),
    examine: (jobs: JobRecords) => examineHost(options, jobs),
    secrets: secretsOf(options),
    templates: templatesOf(options, onTrouble),
  };
}

/** The scanner for secrets of the configuration, made when it is first needed. */
function secretsOf({ configDir }: MasterOptions): () => SecretScanner {
  let scanner: SecretScanner | undefined;
  return () =>
    (scanner ??= new SecretScanner(
      knownSecrets({ configDir }).map(({ option, value }) => ({ from: `option ${option}`, value })),
    ));
}

function templatesOf(options: MasterOptions, onTrouble: NetapiParts['onTrouble']) {
  const { templates, dropped } = readTemplates(optionsForCallers(options).get(TEMPLATES));
  if (dropped.length > 0) {
    const names = dropped.slice(0, NAMED_MAX).join(', ');
    onTrouble(`${dropped.length} entries of ${TEMPLATES} are no templates: ${names}`, undefined);
  }
  return templates;
}

/** Names in one line of the log. */
const NAMED_MAX = 10;

/** What runs the calls of lowstates. */
function clientOf(
  { brine, restTimeout: restTimeoutS }: MasterOptions,
  parts: Pick<NetapiClientParts, 'requests' | 'live' | 'settings' | 'onTrouble'>,
): NetapiClient {
  return new NetapiClient({ ...parts, silentText: brine.httpSilentMinions, restTimeoutS });
}
