import type { JobRecords, LoadSettings } from '@brine/client';
import type { ApiAcl } from '@brine/config';
import type { Finding } from '@brine/operations/findings';
import type { SecretScanner } from '@brine/operations/secrets';
import type { Trace } from '@brine/telemetry';
import type { MasterRequests } from '../clients/master-requests.ts';
import type { NetapiClient } from '../clients/netapi-client.ts';
import type { FleetFeed } from '../fleet/fleet-feed.ts';
import type { FleetRecords } from '../fleet/fleet-records.ts';
import type { FleetSights } from '../fleet/fleet-sights.ts';
import type { PastRuns } from '../fleet/past-runs.ts';
import type { EventSearch } from '../live/event-search.ts';
import type { LiveParts } from '../live/live-parts.ts';
import type { Places } from '../places.ts';
import type { Callers } from '../sessions/callers.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Template } from './site/read-templates.ts';

/** What `/v1` is served with. */
export interface V1Parts extends Pick<
  LiveParts,
  'begin' | 'followers' | 'sight' | 'streams' | 'topics' | 'searches'
> {
  readonly requests: MasterRequests;
  readonly sessions: Sessions;
  readonly callers: Callers;
  readonly room: Places;
  readonly events: Pick<EventSearch, 'page' | 'one'>;
  readonly fleet: Pick<FleetFeed, 'whole'>;
  readonly sights: FleetSights;
  readonly pastRuns: Pick<PastRuns, 'read'>;
  readonly records: Pick<FleetRecords, 'keys' | 'grains'>;
  readonly client: Pick<NetapiClient, 'run'>;
  /** Origins whose pages may use the API from a browser. */
  readonly origins: readonly string[];
  /** The addresses from which a user may log in. */
  readonly apiAcl: ApiAcl | undefined;
  /** The modules of `external_auth` that users may log in with. */
  readonly logInModules: readonly string[];
  /** The name of the provider that users may log in at; undefined without one. */
  readonly logInElsewhere: string | undefined;
  readonly release: string;
  /** Shape the loads of commands. */
  readonly settings: LoadSettings;
  /** `netapi_enable_clients`. */
  readonly enabled: readonly string[];
  /** Options that commands elsewhere wait and print by. */
  readonly commandOptions: Readonly<Record<string, unknown>>;
  /** Reads the trace of a job from the files of this host. */
  readonly readTrace: (jid: string) => Promise<Trace>;
  /** `brine.host`. */
  readonly host: string;
  /** What the doctor finds on this host. */
  readonly examine: (jobs: JobRecords) => Promise<readonly Finding[]>;
  /** Finds secrets of the configuration in texts. */
  readonly secrets: () => SecretScanner;
  readonly templates: readonly Template[];
  readonly onFault: (error: unknown, request: string) => void;
}
