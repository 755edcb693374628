/*
 * Terms of a job. Code, documents, metrics and log lines use these terms and no others.
 *
 * job              a call of one or more functions on some minions, under one id
 * jid              the id of a job: its start as `YYYYMMDDHHMMSSffffff` (jid.ts)
 * load             the fields of a request as its sender wrote them; of a job, the `publish` load
 * target           the expression in `tgt` and `tgt_type`; each minion judges it itself
 * expected minions those that the master expects to return: the target by its own data
 * missing          ids in a list target that the master does not know
 * origin           what began a job: a command, the HTTP API, a minion, a duty of the master
 * principal        the name that was proven to ask for the job; `user` is the name in the load
 * publication      what minions receive of a job: a map with a serial, sealed and signed
 * serial           a number that rises with every publication under one AES key
 * epoch            the time in which one AES key of the master is in force
 * repetition       the same job published once more, under the same jid and a new serial
 * piece            one of several publications under a jid that its caller chose (`--batch`)
 * return           what a minion answers to a job; the first one of a minion counts
 * sighting         anything else that was seen of a minion in a job: it runs it, it was refused it
 * ledger           for each minion of a job: waiting, returned, failed, late or never
 * deadline         from then on a minion that has not returned counts as `never`
 * not after        from then on publishers do not send the job any more
 * durable          repeated until its `not after` to minions that were away (durable.ts)
 * hidden           kept but not listed, such as the `saltutil.find_job` of a client that waits
 * event            a tag and a map, for everything that listens on the event bus
 * tag              the name of an event: `salt/job/<jid>/ret/<minion>` (tags.ts)
 */

/**
 * What can begin a job: a client of port 4506, the HTTP API, a minion (`publish.publish`), the
 * schedule or the reactor of the master, or a run of a runner or wheel.
 */
export const JOB_ORIGINS = ['cli', 'api', 'minion', 'schedule', 'reactor', 'run'] as const;
export type JobOrigin = (typeof JOB_ORIGINS)[number];

/**
 * What began a job as far as it is on record: also a publication of an earlier release, the view of
 * the stock returner, a syndic, or a return of a job of which nothing else is known.
 */
export const STORED_ORIGINS = [
  ...JOB_ORIGINS,
  ...(['publication', 'pgjsonb', 'syndic', 'return'] as const),
] as const;
export type StoredOrigin = (typeof STORED_ORIGINS)[number];

/** True for an origin that this release knows. */
export function isJobOrigin(value: unknown): value is JobOrigin {
  return JOB_ORIGINS.some((origin) => origin === value);
}

/**
 * A published job. It is one message in the stream PUBLICATIONS. The publication, the row in
 * PostgreSQL, the `new` event and the files of the host are all derived from that message. Times
 * are unix milliseconds.
 */
export interface Job {
  readonly jid: string;
  /** msgpack of the publication, without its `serial`: that is the publisher's. */
  readonly publication: Uint8Array;
  /** msgpack of the load, without key, password and token. */
  readonly load: Uint8Array;
  /** The owner of the key, the token or the login; see `principal` above. */
  readonly principal: string;
  readonly user: string;
  readonly fun: string | readonly string[];
  readonly tgt: string | readonly string[];
  readonly tgtType: string;
  /** The expected minions. */
  readonly minions: readonly string[];
  readonly missing: readonly string[];
  readonly publishedAt: number;
  readonly deadlineAt: number;
  readonly notAfter: number;
  readonly hidden: boolean;
  /** The host of the gateway that took the request; its event-bus writes the job's files. */
  readonly host: string;
  /** The id of the request. The stream stores one job for it, for any number of tries. */
  readonly requestId: string;
  /** The id of the request, if its caller chose the jid. */
  readonly piece?: string;
  readonly durable?: boolean;
  /** Absent in jobs of earlier releases. */
  readonly origin?: JobOrigin;
}
