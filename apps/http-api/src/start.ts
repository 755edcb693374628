import { fileURLToPath } from 'node:url';
import { connectBus } from '@brine/bus';
import { answerRoll, RequestSender } from '@brine/bus/rpc';
import { type HttpAddress, HttpListener } from '@brine/http';
import { openNetapi } from '@brine/netapi';
import {
  addConnectionMetrics,
  natsOf,
  ownRelease,
  Releasers,
  type RunningService,
  type ServiceContext,
} from '@brine/service';
import { boundPort } from '@brine/service/processes';
import { exposeMetrics } from './adapters/metrics.ts';

/** The build of apps/console. */
const CONSOLE = new URL('../../console/dist/site/', import.meta.url);

/** Connects to NATS, and serves HTTP on its own port and on that of `rest_cherrypy`. */
export async function startHttpApi(context: ServiceContext): Promise<RunningService> {
  const { options, log, metrics, report, telemetry } = context;
  const { http, host } = options.brine;
  const releasers = new Releasers();
  const bus = answerRoll(await connectBus(natsOf(context, 'http-api')), report);
  releasers.add(() => bus.close());
  const sender = new RequestSender(bus, { host });
  releasers.add(() => sender.close());
  const onTrouble = (text: string, err: unknown): void => log.error({ err }, text);
  const netapi = openNetapi({
    options,
    release: ownRelease(),
    consoleDir: fileURLToPath(CONSOLE),
    bus,
    sender,
    spans: telemetry,
    onTrouble,
  });
  const { rest } = netapi;

  const listen = (address: HttpAddress, isOwn: boolean): Promise<HttpListener> =>
    HttpListener.start({
      address,
      limits: rest.bodyMaxBytes === undefined ? {} : { bodyBytes: rest.bodyMaxBytes },
      errorPage: (status) => netapi.errorPage(status),
      build: (app) => netapi.build(app, isOwn),
      boundPort,
      onTaken: onceUntil((reason) =>
        log.warn({ ...address, reason }, 'another program has the port: it is tried again'),
      ),
      onListening: (endpoint) => log.info({ endpoint }, 'serving HTTP'),
    });
  const listeners = [await listen({ host: http.host, port: http.port }, true)];
  if (rest.address !== undefined) {
    try {
      listeners.push(await listen(rest.address, false));
    } catch (err) {
      // A stock master runs on where its salt-api can not read a certificate.
      log.error({ err, ...rest.address }, 'the address of rest_cherrypy is not served');
    }
  }
  releasers.add(async () => {
    netapi.close();
    await Promise.all(listeners.map((one) => one.close()));
  });
  addConnectionMetrics(metrics, bus);
  exposeMetrics(metrics, { netapi, sender, listeners });
  return {
    ready: () => bus.status === 'connected',
    status: () => ({
      endpoints: listeners.map(({ endpoint, connections }) => ({ endpoint, connections })),
      bus: bus.status,
      ...netapi.status(),
      workers: sender.stats(),
    }),
    close: () => releasers.run(),
  };
}

/** Calls with the first reason, and with another one. */
function onceUntil(call: (reason: string) => void): (reason: string) => void {
  let last = '';
  return (reason) => {
    if (reason !== last) call(reason);
    last = reason;
  };
}
