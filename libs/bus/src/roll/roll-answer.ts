import type { NatsConnection } from '@nats-io/nats-core';
import { publish } from '../connection/inbox.ts';
import { type ServiceName, subjects } from '../subjects/names.ts';

/** The most that one service reports at a roll call; a longer status is left out. */
export const REPORT_MAX_BYTES = 64 * 1024;

/** A call's id, as its caller made it. */
const CALL = /^[A-Za-z0-9_-]{1,64}$/;

/** A service's report about itself at a roll call. */
export interface OwnFacts {
  readonly [name: string]: unknown;
  /** The part that grows; left out if the whole would be too long. */
  readonly status?: unknown;
}

/**
 * Answers each roll call with the result of `tell`, as long as the connection lives. NATS lets a
 * service publish on its own report subject only, so no service can answer for another. Returns the
 * connection.
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
      // With the rights of an older release in an external NATS it does not receive the calls.
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
