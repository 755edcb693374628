import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readUserKey } from '@brine/cachedir';
import {
  type ClientPorts,
  type ClientSettings,
  clientSettings,
  LocalClient,
  MasterUnreachableError,
} from '@brine/client';
import { clientInterface, type MasterOptions, nodegroupsOf } from '@brine/config';
import { asOwnerOf } from '@brine/files';
import { EventClient } from '@brine/ipc';
import { RequestClient, tcpEndpoint } from '@brine/zmq';
import { keyUser, specificUser } from './master-config.ts';
import { logLine, type Terminal } from './terminal.ts';

/** Pause between two tries to connect to the event socket, ms. */
const RECONNECT_MS = 250;
/** Timeout for the event socket while the master restarts, ms. */
const EVENTS_WAIT_MS = 15_000;

/** The master of this host: a client, and its two sockets. */
export interface LocalMaster {
  readonly client: LocalClient;
  /**
   * Calls the handler with each event of this host, until closed.
   * @throws MasterUnreachableError if no master runs on this host
   */
  listen(onEvent: (tag: string, packed: Uint8Array) => void): Promise<{ close(): void }>;
  close(): Promise<void>;
}

/** Connects a client to the master of this host. Sockets are opened on demand. */
export function openLocalMaster(
  options: MasterOptions,
  terminal: Terminal,
  overrides: Partial<Pick<ClientSettings, 'timeoutMs' | 'gatherJobTimeoutMs' | 'traceparent'>> = {},
  around = (request: ClientPorts['request']): ClientPorts['request'] => request,
): LocalMaster {
  const endpoint = tcpEndpoint(clientInterface(options), options.retPort);
  const request = new RequestClient({ endpoint });
  const user = specificUser();
  const isPresent = (): boolean =>
    options.ipcMode === 'tcp' || existsSync(join(options.sockDir, 'publish_pull.ipc'));
  const listenIfPresent: LocalMaster['listen'] = (onEvent) => {
    if (!isPresent()) throw new MasterUnreachableError();
    return listen(options, onEvent);
  };
  const ports: ClientPorts = {
    request: around(request),
    events: { listen: (onEvent) => listen(options, onEvent) },
    master: {
      isPresent,
      readKey: async () => (await readKey(options, keyUser(user, options.user))) ?? '',
    },
    logError: (text) => logLine(terminal, 'ERROR', text),
  };
  const client = new LocalClient(ports, { ...commandSettings(options, user), ...overrides });
  const close = async (): Promise<void> => {
    await client.close();
    await request.close();
  };
  return { client, listen: listenIfPresent, close };
}

/** How a command publishes and waits, in the trace of what runs it. */
export function commandSettings(options: MasterOptions, user: string): ClientSettings {
  const nodegroups = nodegroupsOf(options.nodegroups);
  const traceparent = process.env['TRACEPARENT'];
  return {
    ...clientSettings(options, { user, nodegroups }),
    ...(traceparent ? { traceparent } : {}),
  };
}

async function readKey({ cachedir }: MasterOptions, user: string): Promise<string | undefined> {
  try {
    return await asOwnerOf(cachedir, () => readUserKey(cachedir, user));
  } catch {
    // Missing or unreadable. The master refuses an empty key.
    return undefined;
  }
}

/** Retries, because a restart of the master takes a second. */
async function connectEvents(
  path: string,
  framing: MasterOptions['brine']['eventFraming'],
): Promise<EventClient> {
  const until = Date.now() + EVENTS_WAIT_MS;
  for (;;) {
    try {
      return await EventClient.connect({ path, framing });
    } catch (error) {
      if (Date.now() >= until) throw error;
      await sleep(RECONNECT_MS);
    }
  }
}

/** Reads the event socket, and reconnects, until closed. */
async function listen(
  options: MasterOptions,
  onEvent: (tag: string, packed: Uint8Array) => void,
): Promise<{ close(): void }> {
  const path = join(options.sockDir, 'master_event_pub.ipc');
  const framing = options.brine.eventFraming;
  let closed = false;
  let current = await connectEvents(path, framing);
  const follow = async (): Promise<void> => {
    while (!closed) {
      try {
        for await (const event of current) onEvent(event.tag, event.packed);
      } catch {
        // The master restarts. The job cache has the missed returns.
      }
      while (!closed) {
        await sleep(RECONNECT_MS);
        try {
          current = await EventClient.connect({ path, framing });
          break;
        } catch {
          // No socket yet. The wait for returns has its own timeout.
        }
      }
    }
  };
  void follow();
  return {
    close: () => {
      closed = true;
      current.close();
    },
  };
}
