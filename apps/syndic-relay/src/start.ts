import { userInfo } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { type Bus, connectBus } from '@brine/bus';
import { answerRoll, RequestSender } from '@brine/bus/rpc';
import { readUserKey } from '@brine/cachedir';
import type { MasterOptions } from '@brine/config';
import { natsOf, Releasers, type RunningService, type ServiceContext } from '@brine/service';
import { writePidfile } from '@brine/service/processes';
import type { Clock, LaneSettings } from '@brine/syndic';
import { RequestsBelow } from './adapters/below.ts';
import { Downward } from './adapters/downward.ts';
import { failover } from './adapters/failover.ts';
import { JobLookup } from './adapters/job-lookup.ts';
import type { MasterAboveLink } from './adapters/masters-above.ts';
import { linkTo, loadSyndic, namedMasters } from './adapters/masters-above.ts';
import { exposeMetrics } from './adapters/metrics.ts';
import { Upward, type Way } from './adapters/upward.ts';

/** Time for a successor to sign in above and to subscribe; unreachable masters do not extend it. */
const LEAVE_MS = 10_000;

/**
 * Starts the link to the masters above: jobs come down, events and returns go up. Without
 * `syndic_master` the service is idle and ready, as there is nothing to do. An unreachable master
 * above does not make the service unready: its events wait.
 */
export async function startSyndicRelay(context: ServiceContext): Promise<RunningService> {
  const { options, log } = context;
  const releasers = new Releasers();
  const bus = answerRoll(await connectBus(natsOf(context, 'syndic-relay')), context.report);
  releasers.add(() => bus.close());
  const names = namedMasters(options);
  if (names.length > 0) return relay(context, { bus, names, releasers });
  log.info('no syndic_master: nothing to relay');
  return {
    close: () => releasers.run(),
    ready: () => bus.status === 'connected',
    status: () => ({ idle: true }),
  };
}

interface RelayParts {
  readonly bus: Bus;
  readonly names: readonly string[];
  readonly releasers: Releasers;
}

async function relay(
  context: ServiceContext,
  { bus, names, releasers }: RelayParts,
): Promise<RunningService> {
  const { options, log, metrics } = context;
  const ending = new AbortController();
  const { signal } = ending;
  const pause = (ms: number): Promise<void> => wait(ms, undefined, { signal });
  const syndic = await loadSyndic(options.configDir, context.env);
  notePid(context);

  const requests = new RequestSender(bus, { host: options.brine.host });
  releasers.add(() => requests.close());
  const below = new RequestsBelow({
    requests,
    readKey: () => masterKey(options),
    log,
    nowMs: () => Date.now(),
    wait: pause,
  });
  const downward = new Downward(below, belowSettings(options), log);
  const links = names.map((name) =>
    linkTo(name, names.length === 1, {
      options,
      syndic,
      log,
      onJob: (job, token) => downward.take(job, token),
    }),
  );
  releasers.add(async () => void (await Promise.all(links.map((one) => one.close()))));
  const jobs = new JobLookup(bus, log, pause);
  const clock: Clock = {
    nowMs: () => Date.now(),
    sleep: (ms, until) => wait(ms, undefined, { signal: until }),
  };
  const settings = laneSettings(options, syndic.options.id);
  const ways = waysTo(links, options).map(
    (way) => new Upward(way, { bus, jobs, clock, log, settings }),
  );
  exposeMetrics(metrics, { bus, links: links.map(({ link }) => link), ways, downward });
  log.info({ id: syndic.options.id, masters: names }, 'relaying for the masters above');

  const running = [
    ...links.map(({ link }) => link.run(signal)),
    ...ways.map((way) => way.run(signal)),
    jobs.run(),
  ];
  for (const one of running) one.catch(context.fail);
  releasers.add(async () => {
    // Links and ways end with the signal; the lookup ends when it is closed.
    ending.abort(new Error('the relay stops'));
    jobs.close();
    await Promise.allSettled(running);
  });
  return {
    ready: () => bus.status === 'connected' && ways.every(({ status }) => status.reading),
    status: () => ({
      id: syndic.options.id,
      bus: bus.status,
      masters: links.map(({ link }) => link.status),
      up: ways.map(({ status }) => status),
      down: downward.stats,
    }),
    // The successor signs in above meanwhile; a job that both receive is one job below.
    leave: () => pause(LEAVE_MS),
    close: () => releasers.run(),
  };
}

function belowSettings(options: MasterOptions) {
  const { masterId, timeout, orderMasters, extJobCache } = options;
  return { masterId, timeout, orderMasters, extJobCache, user: keyUser(options) };
}

function laneSettings(options: MasterOptions, id: string): LaneSettings {
  return {
    id,
    masterId: options.masterId,
    mode: options.syndicMode,
    pauseMs: options.syndicEventForwardTimeout * 1000,
    loadsRemembered: options.syndicJidForwardCacheHwm,
    keepMs: (options.brine.syndic.keep || options.keepJobsSeconds) * 1000,
  };
}

/**
 * One way to each master, for its returns and for all events. With several masters a further way
 * for returns that none of them asked for.
 */
function waysTo(links: readonly MasterAboveLink[], options: MasterOptions): readonly Way[] {
  const [only] = links;
  if (only !== undefined && links.length === 1) {
    return [{ name: only.token, above: only.link, isFor: () => true, returnsOnly: false }];
  }
  const tokens = new Set(links.map(({ token }) => token));
  const names = new Set(links.map(({ link }) => link.name));
  // Like stock syndics: a master_id that is a name in syndic_master is that master.
  const asker: (askers: ReadonlySet<string>, masterId: string | undefined) => boolean = (
    askers,
    masterId,
  ) => [...askers].some((token) => tokens.has(token)) || names.has(masterId ?? '');
  const ways = links.map(({ link, token }): Way => {
    return {
      name: token,
      above: link,
      returnsOnly: false,
      isFor: (job, masterId) => {
        const known = [...(job?.askers ?? [])].filter((one) => tokens.has(one));
        return known.length > 0 ? known.includes(token) : masterId === link.name;
      },
    };
  });
  const masters = links.map(({ link }) => link);
  const above = failover(masters, options.syndicFailover, options.syndicRetries);
  return [
    ...ways,
    {
      name: 'any',
      above,
      returnsOnly: true,
      isFor: (job, masterId) => !asker(job?.askers ?? new Set(), masterId),
    },
  ];
}

/** The user whose local key publishes. Rights that come from above need the master's own user. */
function keyUser(options: MasterOptions): string {
  return options.syndicUser === '' ? options.user : options.syndicUser;
}

async function masterKey(options: MasterOptions): Promise<string | undefined> {
  for (const user of new Set([keyUser(options), options.user, userInfo().username])) {
    const key = await readUserKey(options.cachedir, user);
    if (key !== undefined) return key;
  }
  return undefined;
}

function notePid({ options, log }: ServiceContext): void {
  try {
    writePidfile(options.syndicPidfile);
  } catch (error) {
    log.warn({ err: error, path: options.syndicPidfile }, 'the pid file can not be written');
  }
}
