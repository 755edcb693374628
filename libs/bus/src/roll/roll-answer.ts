import type { NatsConnection } from '@nats-io/nats-core';
import { publish } from '../connection/inbox.ts';
import { type ServiceName, subjects } from '../subjects/names.ts';

/** What one service tells at a roll call; more of its status is left out. */
export const REPORT_MAX_BYTES = 64 * 1024;

/** A call as its caller numbered it. */
const CALL = /^[A-Za-z0-9_-]{1,64}$/;

/** What a service tells of itself when the cluster is called. */
export interface OwnFacts {
  readonly [name: string]: unknown;
  /** The part that grows, and is left out where all of it would be too long. */
  readonly status?: unknown;
}

/**
 * Answers each roll call with what `tell` gives, as long as the connection lives. NATS lets a
 * service tell on its own subject alone, so that none can speak for another. Gives the connection.
 */
export function answerRoll<
  B extends {
    readonly connection: NatsConnection;
    readonly name: ServiceName;
  },
>(bus: B, report: () => OwnFacts): B {
  const { connection, name } = bus;
  connection.subscribe(subjects.roll, {
    callback: (error, msg) => {
      // The rights of a NATS that is not ours may be older than this release: then it is not heard.
      if (error !== null && error !== undefined) return;
      const call = Buffer.from(msg.data).toString('latin1');
      if (CALL.test(call)) publish(connection, subjects.told(name), packReport(call, report()));
    },
  });
  return bus;
}

/** An answer as it goes out. */
export function packReport(call: string, facts: OwnFacts): string {
  const whole = JSON.stringify({ call, facts });
  if (Buffer.byteLength(whole) <= REPORT_MAX_BYTES) return whole;
  const status = { leftOut: `more than ${REPORT_MAX_BYTES} bytes` };
  return JSON.stringify({ call, facts: { ...facts, status } });
}
