import { serveAdmissions, serveUnderWay } from '@brine/cluster-work';
import { cryptoInUse } from '@brine/crypt';
import {
  ClusterRuns,
  FunctionTable,
  openClusterPresence,
  openEngines,
  openHostPorts,
  openKnownFunctions,
  openOwnStates,
  openReactor,
  openSchedule,
  openScheduleAdmin,
  openUpkeep,
  ReactorList,
} from '@brine/duties';
import type { FunctionCall } from '@brine/master';
import type { Admission } from '@brine/master/functions';
import { MASTER_EDGES, type MasterEdges, openMaster, servePython } from '@brine/master-ports';
import { BucketBanks } from '@brine/master-state';
import { openPython } from '@brine/python-host';
import { addConnectionMetrics, type RunningService, type ServiceContext } from '@brine/service';

/**
 * Starts the process that runs functions and does what the master does by itself: state and ports,
 * then functions, then duties.
 */
export async function startRunnerPool(
  context: ServiceContext,
  edges: MasterEdges = MASTER_EDGES,
): Promise<RunningService> {
  const { options, metrics, log } = context;
  const fault = (text: string, err?: unknown): void => log.error({ err }, text);
  const python = openPython(options, (level, text) => log[level](text));
  const master = await openMaster(context, {
    service: 'runner-pool',
    edges,
    pythonOf: () => python,
  });
  const { bus, pem, processId, state, ports, files, traces, releasers } = master;
  releasers.add(() => python?.close());

  const runs = new ClusterRuns({ bus, pem, processId, onTrouble: fault });
  const ownStates = openOwnStates({ options, files, python, log });
  releasers.add(() => ownStates.close());
  const reactorList = new ReactorList({ context, bus, pem });
  const scheduleAdmin = openScheduleAdmin(bus, runs);
  const hostPorts = openHostPorts({
    bus,
    options,
    processId,
    files,
    pillars: master.pillarThreads,
  });
  const functions = new FunctionTable({
    ...master,
    options,
    onTrouble: fault,
    pillarTop: (asked) => master.pillarThreads.top(asked),
    runs,
    banks: new BucketBanks({
      ...state,
      pillarEnvs: Object.keys(options.pillarRoots),
      now: () => Date.now(),
    }),
    hostPorts: { ...hostPorts, ownStates },
    reactor: reactorList.admin,
    schedule: scheduleAdmin,
  });

  const duty = { context, bus, ports, local: functions };
  const presence = openClusterPresence({ ...duty, state });
  const engines = openEngines(duty);
  const upkeep = openUpkeep(context, bus, pem);
  const known = openKnownFunctions({ bus, options, ports, functions, onTrouble: fault });
  const schedule = openSchedule({ ...duty, runs, admin: scheduleAdmin, processId, python });
  runs.serve({
    options,
    ports,
    local: functions,
    onTrouble: fault,
    traceOwn: traces.own,
    listen: (...asked) => functions.listen(...asked),
    contextOf: (call) => functions.contextOf(call),
    tasks: [...presence.tasks, ...schedule.tasks, ...engines.tasks, upkeep.task, known.task],
  });
  const reactor = openReactor({ ...master, ...duty, list: reactorList, ownStates, runs });
  // Orchestrations of reactions end when their runs are handed on.
  releasers.add(async () => void (await Promise.all([runs.close(), reactor.close()])));
  releasers.add(async () => void (await Promise.all([engines.leave(), schedule.close()])));

  const admissions = serveAdmissions(bus, (kind, fun) => admission(functions, runs, kind, fun));
  releasers.add(() => admissions.close());
  const underWay = serveUnderWay(bus, runs);
  releasers.add(() => underWay.close());
  if (python !== undefined) {
    const served = servePython(bus, python);
    releasers.add(() => served.close());
  }
  schedule.start();
  addConnectionMetrics(metrics, bus);
  log.info(cryptoInUse(), 'what seals');
  return {
    ready: () => bus.status === 'connected' && state.ready(),
    status: () => ({
      runs: runs.stats(),
      reactor: reactor.status(),
      schedule: schedule.stats(),
      engines: engines.status(),
      presence: presence.status(),
      upkeep: upkeep.status(),
      functions: known.status(),
      files: master.fetches().status(),
      ...cryptoInUse(),
    }),
    leave: async () => {
      // How far engines have come is stored before their runs are handed on.
      const handedOver = engines.leave().then(() => runs.leave());
      await Promise.all([handedOver, schedule.leave(), reactor.leave()]);
    },
    close: () => releasers.run(),
  };
}

/** Whether a call may begin. */
async function admission(
  functions: FunctionTable,
  runs: ClusterRuns,
  kind: FunctionCall['kind'],
  fun: string,
): Promise<Admission> {
  if (!(await functions.knows(kind, fun))) return 'unknown';
  return runs.isFull ? 'full' : 'yes';
}
