import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMap, listOf, mapIn, type SaltMap, type SaltValue, textOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { COMMAND_NAME } from '@brine/wire/load';
import { pyRepr } from '@brine/wire/text';
import type { ClientSettings } from './client-settings.ts';
import { type Command, type JobReturn, type PublishedCommand, publishLoad } from './command.ts';
import { MasterUnreachableError, RefusedError, RequestTimeoutError } from './errors.ts';
import { EventInbox, type EventQueue } from './event-inbox.ts';
import { gatherReturns, type GatherSettings } from './gather.ts';
import type { ClientPorts } from './ports.ts';

/** Stock clients send the same bytes this often (Salt: salt/channel/client.py, tries=3). */
const REQUEST_TRIES = 3;
/** Pause before a retry after a lost connection. Such a loss does not count as a try. */
const LOST_PAUSE_MS = 100;
/** More losses than a restart of the master causes: the port drops every caller. */
const LOSSES_MAX = 100;
/**
 * A master recognizes a repeated publish for two minutes (`duplicate_window`); a later one is a new
 * job.
 */
const SENT_AGAIN_MS = 100_000;
/** A shorter timeout would treat a busy master as dead. Stock clients use `-t` as it is. */
const MIN_REQUEST_TIMEOUT_MS = 5_000;

/** How a request is sent. */
interface ExchangeOptions {
  readonly requestId?: string | undefined;
  readonly isOwn?: boolean | undefined;
  /** Least timeout of each try, in ms. */
  readonly atLeastMs?: number;
}

/** Publishes jobs and gathers their returns (Salt: salt/client/__init__.py LocalClient). */
export class LocalClient {
  readonly #ports: ClientPorts;
  readonly #settings: ClientSettings;
  readonly #inbox = new EventInbox();
  #connection: Promise<{ close(): void | Promise<void> }> | undefined;
  #key: string | undefined;

  constructor(ports: ClientPorts, settings: ClientSettings) {
    this.#ports = ports;
    this.#settings = settings;
  }

  /**
   * Publishes a command. With `listen` it connects to the event socket first, so that no return is
   * missed. `into` is a queue that takes the events of this job too.
   * @returns undefined if no minion matched, so that nothing was published
   * @throws MasterUnreachableError RequestTimeoutError RefusedError NodegroupError
   */
  async publish(
    command: Command,
    options: { readonly listen?: boolean; readonly into?: EventQueue } = {},
  ): Promise<PublishedCommand | undefined> {
    this.#refuseWithoutMaster();
    this.#key ??= await this.#ports.master.readKey();
    const load = publishLoad(command, this.#key, this.#settings);
    const { requestId, isOwn } = command;
    const how = { requestId, isOwn };
    if (options.listen !== true && options.into === undefined) return this.#send(load, how);
    await this.#connect();
    const events = options.into ?? this.#inbox.open();
    events.keepAll();
    let published: PublishedCommand | undefined;
    try {
      published = await this.#send(load, how);
      return published === undefined ? undefined : { ...published, events };
    } finally {
      events.keepWanted(published === undefined ? undefined : this.#tagsOf(published.jid));
      if (published === undefined && options.into === undefined) events.close();
    }
  }

  /** The returns of a job as they come, then the minions that did not return. */
  returns(
    job: PublishedCommand,
    options: {
      readonly kwargs?: SaltMap;
      readonly part?: ReadonlySet<string>;
      readonly unexpected?: boolean;
      readonly timeoutMs?: number;
      readonly gatherJobTimeoutMs?: number;
    } = {},
  ): AsyncGenerator<JobReturn> {
    const settings: GatherSettings = {
      timeoutMs: options.timeoutMs ?? this.#settings.timeoutMs,
      gatherJobTimeoutMs: options.gatherJobTimeoutMs ?? this.#settings.gatherJobTimeoutMs,
      orderMasters: this.#settings.orderMasters,
      syndicWaitMs: this.#settings.syndicWaitMs,
      unexpected: options.unexpected === true,
      ...(options.part === undefined ? {} : { part: options.part }),
      ...(options.kwargs === undefined ? {} : { kwargs: options.kwargs }),
    };
    return gatherReturns(job, (command, into) => this.publish(command, { into }), settings, {
      logError: this.#ports.logError,
    });
  }

  /**
   * The events of a job that another command published, from now on. The caller closes the queue.
   * @throws RequestTimeoutError without an event socket.
   */
  async listenTo(jid: string): Promise<EventQueue> {
    await this.#connect();
    const events = this.#inbox.open();
    events.keepAll();
    events.keepWanted(this.#tagsOf(jid));
    return events;
  }

  /**
   * Sends a clear command other than publish, with the caller's key. `atLeastMs`: least timeout of
   * each try, for large answers.
   * @throws MasterUnreachableError RequestTimeoutError RefusedError
   */
  async command(load: SaltMap, atLeastMs = MIN_REQUEST_TIMEOUT_MS): Promise<SaltMap> {
    if (!this.#ports.master.isPresent()) throw new MasterUnreachableError();
    this.#key ??= await this.#ports.master.readKey();
    load.set('key', this.#key);
    load.set('user', this.#settings.user);
    const { traceparent } = this.#settings;
    if (traceparent !== undefined) load.set('traceparent', traceparent);
    const reply = await this.#exchange(load, { atLeastMs });
    refuse(reply);
    return isMap(reply) ? reply : new Map();
  }

  /**
   * Sends a command of Brine with the form and the rights of a publish.
   * @param more further fields of the load
   * @throws MasterUnreachableError RequestTimeoutError RefusedError NodegroupError
   */
  async order(
    cmd: 'brine_batch' | 'brine_resolve',
    command: Command,
    more: SaltMap = new Map(),
  ): Promise<SaltMap> {
    this.#refuseWithoutMaster();
    for (let isSecond = false; ; isSecond = true) {
      this.#key ??= await this.#ports.master.readKey();
      const load = publishLoad(command, this.#key, this.#settings).set('cmd', cmd);
      for (const [name, value] of more) load.set(name, value);
      const reply = await this.#exchange(load);
      refuse(reply);
      if (isMap(reply) && reply.size > 0) return reply;
      // A master that does not know the command does not answer.
      if (isSecond) throw new RefusedError('SaltClientError', `The master does not know ${cmd}`);
      this.#key = undefined;
    }
  }

  /** The events with wanted tags, from now on. Close the queue afterwards. */
  async listen(wants: (tag: string) => boolean): Promise<EventQueue> {
    await this.#connect();
    const events = this.#inbox.open();
    events.keepAll();
    events.keepWanted(wants);
    return events;
  }

  /** How long this client waits for minions, in ms. */
  get waits(): Pick<ClientSettings, 'timeoutMs' | 'gatherJobTimeoutMs'> {
    return this.#settings;
  }

  /** Closes the event connection. The ports belong to the caller. */
  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    this.#connection = undefined;
    await connection?.close();
  }

  #refuseWithoutMaster(): void {
    if (this.#ports.master.isPresent()) return;
    throw new MasterUnreachableError(
      `Unable to connect to the salt master publisher at ${this.#settings.sockDir}`,
    );
  }

  #tagsOf(jid: string): (tag: string) => boolean {
    const prefix = `salt/job/${jid}`;
    if (!this.#settings.orderMasters) return (tag) => tag.startsWith(prefix);
    // Salt matches `(salt/job|syndic/.*)/<jid>` from the start of the tag.
    return (tag) =>
      tag.startsWith(prefix) || (/^syndic\/.*\//s.test(tag) && tag.includes(`/${jid}`));
  }

  async #connect(): Promise<void> {
    this.#connection ??= this.#ports.events.listen(this.#inbox.take);
    try {
      await this.#connection;
    } catch (error) {
      throw new RequestTimeoutError({ cause: error });
    }
  }

  async #send(
    load: SaltMap,
    how: Pick<ExchangeOptions, 'requestId' | 'isOwn'>,
  ): Promise<PublishedCommand | undefined> {
    // Gateways may die, any number of times, before the request is answered.
    if (how.requestId === undefined) load.set(COMMAND_NAME, randomUUID());
    let reply = await this.#exchange(load, how);
    if (isEmpty(reply)) {
      // A restarted master has new keys.
      const key = await this.#ports.master.readKey();
      if (key === this.#key) {
        throw new RefusedError('EauthAuthenticationError', NOT_PERMITTED);
      }
      this.#key = key;
      load.set('key', key);
      reply = await this.#exchange(load, how);
    }
    refuse(reply);
    const answer = isMap(reply) ? mapIn(reply, 'load') : undefined;
    if (answer === undefined) throw new RefusedError('PublishError', pyRepr(reply));
    const jid = textOf(answer, 'jid');
    const minions = idsIn(answer, 'minions');
    const missing = idsIn(answer, 'missing');
    if (jid === undefined || (minions.length === 0 && !this.#settings.orderMasters)) {
      return undefined;
    }
    return { jid, minions, ...(missing.length === 0 ? {} : { missing }) };
  }

  async #exchange(
    load: SaltMap,
    { requestId, isOwn, atLeastMs = MIN_REQUEST_TIMEOUT_MS }: ExchangeOptions = {},
  ): Promise<SaltValue> {
    const body = clearEnvelope(load);
    const tryMs = Math.max(this.#settings.timeoutMs, atLeastMs);
    const until = performance.now() + SENT_AGAIN_MS;
    let failure: unknown;
    let losses = 0;
    for (let tries = 0; tries < REQUEST_TRIES; tries += 1) {
      const timeoutMs = Math.min(tryMs, until - performance.now());
      if (timeoutMs <= 0) break;
      const options = {
        timeoutMs,
        ...(requestId === undefined ? {} : { requestId }),
        ...(isOwn === undefined ? {} : { isOwn }),
      };
      try {
        // The same bytes each time, so that the master recognizes a retry.
        return unpack(await this.#ports.request.request(body, options));
      } catch (error) {
        // The port knows that a retry would fail too.
        if (error instanceof RefusedError || error instanceof MasterUnreachableError) throw error;
        failure = error;
        if (!isLost(error) || losses >= LOSSES_MAX) continue;
        losses += 1;
        tries -= 1;
        await sleep(LOST_PAUSE_MS);
      }
    }
    throw new RequestTimeoutError({ cause: failure });
  }
}

const NOT_PERMITTED =
  'Failed to authenticate! This is most likely because this user is not permitted to execute ' +
  'commands, but there is a small possibility that a disk error occurred (check disk/inode usage).';

/** True for the request port's error of a connection lost with a request in flight. */
function isLost(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SALT_ZMQ_LOST';
}

function idsIn(answer: SaltMap, name: string): string[] {
  return (listOf(answer, name) ?? []).filter((id) => typeof id === 'string');
}

function isEmpty(reply: SaltValue): boolean {
  return reply === '' || reply === null || (isMap(reply) && reply.size === 0);
}

/** Turns an error in a reply into the error it names. */
function refuse(reply: SaltValue): void {
  if (typeof reply === 'string') throw new RefusedError('PublishError', reply);
  if (!isMap(reply)) return;
  const error = reply.get('error');
  if (error === undefined || error === null) return;
  if (!isMap(error)) throw new RefusedError('PublishError', pyRepr(error).replace(/^'|'$/g, ''));
  const name = textOf(error, 'name') ?? 'PublishError';
  throw new RefusedError(name, textOf(error, 'message') ?? pyRepr(error));
}
