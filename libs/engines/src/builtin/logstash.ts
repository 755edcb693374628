import { createSocket, type Socket } from 'node:dgram';
import { hostname } from 'node:os';
import { Options } from '../child/options.ts';
import type { EngineEvent, EngineStart, Plain } from '../engine.ts';
import { deliverEach, NotTakenError } from './deliver.ts';
import { TcpOutput } from './tcp-output.ts';

const PORT = 5959;
const TAG = 'salt/engine/logstash';
const LOGGER = 'python-logstash-logger';
/** Largest datagram. */
const UDP_MAX_BYTES = 65_507;

/** Names that python-logstash reserves, and does not send. */
const KEPT = new Set([
  ...['args', 'asctime', 'created', 'exc_info', 'exc_text', 'extra', 'filename', 'funcName', 'id'],
  ...['levelname', 'levelno', 'lineno', 'module', 'msecs', 'message', 'msg', 'name', 'pathname'],
  ...['process', 'processName', 'relativeCreated', 'thread', 'threadName'],
]);

/**
 * Sends events to logstash by UDP or TCP, in the form of python-logstash, version 1
 * (salt/engines/logstash_engine.py). `event_tag` is ours.
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const [host, port] = [options.text('host'), options.port('port', PORT)];
  const proto = options.oneOf('proto', ['udp', 'tcp'], 'udp');
  const message = options.text('tag', TAG);
  const output = proto === 'tcp' ? tcp(host, port) : udp(host, port);
  try {
    await deliverEach(engine, { tags: options.texts('tags'), atOnce: 1 }, (event) =>
      output.send(JSON.stringify(recordOf(event, message))),
    );
  } finally {
    output.close();
  }
};

/** An event as python-logstash writes it. */
export function recordOf(
  { tag, data, timeMs }: Pick<EngineEvent, 'tag' | 'data' | 'timeMs'>,
  message: string,
): { readonly [key: string]: Plain } {
  const fields = Object.entries(data).filter(([name]) => !KEPT.has(name));
  return {
    '@timestamp': new Date(timeMs).toISOString(),
    '@version': '1',
    message,
    host: hostname(),
    path: 'brine',
    tags: [],
    type: 'logstash',
    level: 'INFO',
    logger_name: LOGGER,
    event_tag: tag,
    ...Object.fromEntries(fields),
  };
}

interface Output {
  send(text: string): Promise<void>;
  close(): void;
}

function tcp(host: string, port: number): Output {
  const output = new TcpOutput(host, port);
  return {
    send: (text) => output.write(Buffer.from(`${text}\n`)),
    close: () => output.close(),
  };
}

function udp(host: string, port: number): Output {
  let socket: Socket | undefined;
  return {
    send: async (text) => {
      const bytes = Buffer.from(text);
      if (bytes.length > UDP_MAX_BYTES) {
        throw new NotTakenError(`${bytes.length} bytes are too many for UDP; set proto to tcp`);
      }
      const open = (socket ??= openSocket(host));
      await new Promise<void>((resolve, reject) => {
        open.send(bytes, port, host, (error) => (error === null ? resolve() : reject(error)));
      });
    },
    close: () => socket?.close(),
  };
}

function openSocket(host: string): Socket {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  // Each send reports its own error.
  socket.on('error', () => undefined);
  return socket;
}
