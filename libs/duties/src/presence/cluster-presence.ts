import { randomBytes } from 'node:crypto';
import { Bucket, type Bus } from '@brine/bus';
import { PublicationWriter } from '@brine/bus/jobs';
import type { ClusterTask } from '@brine/cluster-work';
import { JidMaker } from '@brine/job';
import type { MasterPorts } from '@brine/master';
import { presenceQuestion, questionJid } from '@brine/master-ports';
import type { HotState } from '@brine/master-state';
import type { Metrics, ServiceContext } from '@brine/service';
import { nowMs } from '@brine/telemetry';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { PresenceOwner, type PresenceOwnerParts } from './presence-owner.ts';
import { PresenceRecords } from './presence-records.ts';

export interface ClusterPresenceParts {
  readonly bus: Bus;
  readonly context: Pick<ServiceContext, 'options' | 'metrics' | 'log'>;
  readonly state: Pick<HotState, 'keys' | 'syndics' | 'ready'>;
  /** The ports of requests. */
  readonly ports: MasterPorts;
}

/** The presence of the cluster; one process at a time owns it. */
export interface ClusterPresence {
  /** The cluster task of presence. */
  readonly tasks: readonly ClusterTask[];
  /** The status of the owner; empty in other processes. */
  status(): object;
}

/** Replaces `publish_session` if it is off, in seconds. */
const DAY_S = 86_400;
const PRESENCE = 'presence';

/** Opens the presence of the cluster in a process that may own it. */
export function openClusterPresence(parts: ClusterPresenceParts): ClusterPresence {
  const { metrics } = parts.context;
  const owned = ownerParts(parts);
  let owner: PresenceOwner | undefined;
  exposePresence(metrics, () => owner);
  return {
    tasks: [
      {
        kind: PRESENCE,
        name: PRESENCE,
        work: async (run) => {
          const own = new PresenceOwner(owned);
          owner = own;
          await own.work(run);
          if (owner === own) owner = undefined;
        },
      },
    ],
    status: () => (owner === undefined ? {} : figuresOf(owner)),
  };
}

function ownerParts({ bus, context, state, ports }: ClusterPresenceParts): PresenceOwnerParts {
  const { options, log } = context;
  const writer = new PublicationWriter(bus);
  const jids = new JidMaker();
  const asker = randomBytes(4).toString('hex');
  const sessionS = options.publishSession > 0 ? options.publishSession : DAY_S;
  return {
    bus,
    records: new PresenceRecords(new Bucket(bus, 'brine_presence')),
    fires: options.presenceEvents,
    intervalMs: options.loopInterval * 1000,
    graceMs: options.brine.presenceGrace * 1000,
    provenForMs: sessionS * 1000,
    keys: { accepted: () => state.keys.accepted(), isReady: () => state.ready() },
    unanswering: () => state.syndics.unanswering(),
    ask: async (ids) => {
      const jid = questionJid(jids.next(nowMs()), asker);
      const asking = { jid, now: Date.now(), masterId: options.masterId };
      await writer.appendJob(presenceQuestion(ids, asking));
      ports.count('presence_asked');
    },
    seenLately: async (ids) => {
      const sinceMs = Date.now() - sessionS * 1000;
      const answer = await ports.jobs.ask('heard_since', mapOf({ ids: [...ids], sinceMs }));
      return Array.isArray(answer) ? answer.filter((id) => typeof id === 'string') : [];
    },
    fire: async (tag: string, data: SaltMap, msgId: string) => {
      await ports.events.append({ kind: 'local', tag, body: pack(data), msgId });
    },
    onTrouble: (text, err) => log.warn({ err }, text),
  };
}

/** The figures of presence, by their names in the status and the metrics. */
function figuresOf({ presence }: PresenceOwner) {
  const { ended, ...others } = presence.stats();
  return { ...others, loose: ended };
}

/** Figures for `/metrics`; those of minions come from the process that owns presence. */
function exposePresence(metrics: Metrics, owner: () => PresenceOwner | undefined): void {
  metrics.gaugeOf(
    'brine_presence_minions',
    'Minions, by what is known of their connection.',
    () => {
      const own = owner();
      if (own === undefined) return [];
      const { present, loose, unclear } = figuresOf(own);
      const states = { present, loose, unclear };
      return Object.entries(states).map(([state, value]) => ({ labels: { state }, value }));
    },
  );
  metrics.gaugeOf('brine_presence_connected', 'Minions connected, by host of the publisher.', () =>
    [...(owner()?.presence.byHost() ?? [])].map(([host, value]) => ({ labels: { host }, value })),
  );
  metrics.counterOf(
    'brine_presence_asked_total',
    'Minions asked whether they are there; each time counts.',
    () => owner()?.presence.stats().asked ?? 0,
  );
}
