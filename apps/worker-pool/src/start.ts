import { type Answer, type IncomingRequest, RequestReceiver, serveStalled } from '@brine/bus/rpc';
import { cryptoInUse } from '@brine/crypt';
import {
  askedPython,
  exposeMetrics,
  MASTER_EDGES,
  type MasterEdges,
  type OpenedMaster,
  openMaster,
} from '@brine/master-ports';
import { serveRequestIds } from '@brine/master-state';
import type { RunningService, ServiceContext } from '@brine/service';
import { nowMs } from '@brine/telemetry';

/** How long a request waits while the copy of the hot state is read again, ms. */
const STATE_WAIT_MS = 2000;

/** Starts one worker: hot state, then keys, then requests. */
export async function startWorker(
  context: ServiceContext,
  edges: MasterEdges = MASTER_EDGES,
): Promise<RunningService> {
  const { options, metrics, log } = context;
  const master = await openMaster(context, {
    service: 'worker-pool',
    edges,
    pythonOf: (bus) => askedPython(options, bus),
  });
  const { bus, state, masterKey, audit, releasers, processId: workerId } = master;
  // Further questions of gateways: the ids of requests, and records of refusals.
  const asked = [
    ...serveRequestIds(bus, state.requests),
    serveStalled(bus, (refused) => {
      audit.recordRefusal({ kind: 'request', outcome: 'stalled', ...refused });
    }),
  ];
  releasers.add(async () => void (await Promise.all(asked.map((one) => one.close()))));
  const receiver = new RequestReceiver(bus, { workerId, host: options.brine.host });
  releasers.add(() => receiver.drain());
  receiver.serve(answering(master));
  exposeMetrics(metrics, { ...master, ...state, receiver });
  log.info(cryptoInUse(), 'what seals');
  return {
    ready: () => bus.status === 'connected' && state.ready(),
    status: () => ({
      minions: state.keys.counts(),
      sessions: state.sessions.count(),
      rsaQueued: masterKey.queued,
      requests: receiver.stats(),
      files: master.fetches().status(),
      ...cryptoInUse(),
    }),
    // Pillars in progress are finished.
    leave: () => receiver.drain(),
    close: () => releasers.run(),
  };
}

/** Answers requests. */
function answering({
  answerer,
  state,
  traces,
  stats,
}: OpenedMaster): (request: IncomingRequest) => Promise<Answer> {
  return async (request) => {
    // While the copy of the hot state is read again this worker has no sound answer.
    if (!state.ready() && !(await state.readyWithin(STATE_WAIT_MS))) return { kind: 'refuse' };
    const startMs = nowMs();
    const answer = await answerer.answer(request);
    if (answer.kind === 'drop') return answer;
    // Other commands are counted where they run.
    if (answer.about?.kind === 'login') stats?.ran('_auth', nowMs() - startMs);
    const trace = traces.note(request, answer, startMs);
    return { kind: 'reply', body: answer.body, ...(trace === undefined ? {} : { trace }) };
  };
}
