import { z } from 'zod';
import { eventSchema } from './events.ts';
import { facetsSchema, minionSchema } from './fleet/minions.ts';
import { positionSchema } from './pages.ts';
import { timeSchema } from './times.ts';

const TOPICS_MAX = 2_048;

/** What a stream is asked for. */
export const streamQuery = z.strictObject({
  topics: z
    .string()
    .min(1)
    .max(TOPICS_MAX)
    .describe(
      'Up to 16, with commas between them: `events` or `events:<glob of tags>` (`*` alone), ' +
        '`jobs`, `job:<jid>`, `overview`, `minions:<filter>:<first>..<last>`. A filter is a ' +
        'query of `/v1/minions` without `limit`, `after` and `offset`, with its own escapes; the ' +
        'window has up to 500 rows of its order, from 0. A stream has `events` once, and up to 8 ' +
        'windows: those that come first here.',
    ),
  from: positionSchema
    .optional()
    .describe('What came after this follows; `Last-Event-ID` goes before it.'),
});

const count = z.int().min(0);

const countsSchema = z
  .object({
    targeted: z.int().min(0),
    returned: z.int().min(0),
    failed: z.int().min(0),
    waiting: z.int().min(0),
  })
  .meta({ id: 'LiveCounts' });

/** The data of each kind of message of a stream, by the name of its event. */
export const streamMessages = {
  hello: z
    .object({ position: positionSchema, topics: z.array(z.string()), heartbeat: z.number() })
    .describe('The first message. A comment comes after `heartbeat` seconds without a message.'),
  refused: z
    .object({ topic: z.string(), why: z.string().describe('As the end of a sentence.') })
    .describe(
      'A topic that was asked for, and that the stream does not have. One message each, after ' +
        '`hello`; the other topics follow. Without a valid topic there is no stream.',
    ),
  job: z
    .object({
      jid: z.string(),
      counts: countsSchema
        .nullable()
        .describe('Null for a job that began before this process: ask for the job.'),
      closed: z.boolean().nullable().describe('True once all minions of the job have returned.'),
    })
    .describe(
      'A job changed. Four a second for each job, or one with each message of `events`, at most.',
    ),
  returns: z
    .array(
      z.object({
        jid: z.string(),
        id: z.string(),
        state: z.enum(['returned', 'failed']),
        retcode: z.int().nullable(),
        at: timeSchema,
      }),
    )
    .describe('Minions that returned, without what they returned.'),
  progress: z
    .object({
      jid: z.string(),
      id: z.string(),
      state: z.string().nullable(),
      result: z.boolean().nullable(),
      number: z.number(),
      of: z.int().optional(),
    })
    .describe('The last state that ran on a minion.'),
  events: z.array(eventSchema).describe('Events. A body above 8 KiB has an address instead.'),
  overview: z
    .object({
      fleet: z
        .object({ total: count, ...facetsSchema.pick({ key: true, present: true }).shape })
        .optional(),
      jobs: z.object({ began: count, returns: count, failed: count }),
    })
    .describe(
      'The minions that the caller sees, if their numbers have changed, and what happened since ' +
        'the message before in jobs that it sees as a whole. One a second, or one with each ' +
        'message of `events`, at most.',
    ),
  rows: z
    .object({
      topic: z.string(),
      rows: z.array(z.object({ index: z.int().min(0), minion: minionSchema })),
      counts: z.object({ total: z.int().min(0), facets: facetsSchema.optional() }),
    })
    .describe(
      'Rows of a window that have changed or moved, one message a second for each at most. A ' +
        'stream begins with the whole window, and has it again after `lag`. Rows from `total` on ' +
        'are gone. Facets come where the filter asks for them, and have changed.',
    ),
  lag: z
    .object({
      dropped: z.int().min(0).nullable(),
      from: positionSchema,
      to: positionSchema,
    })
    .describe('`dropped` events between these positions were left out; `/v1/events` has them.'),
  reset: z
    .object({ position: positionSchema })
    .describe('The position is not kept any more: fetch all again, as of this one.'),
  bye: z
    .object({ retryAfter: z.number() })
    .describe(
      'The log-in has ended, or this process stops. Connect again after `retryAfter` seconds.',
    ),
} as const;

/** The data of messages, by the names of their events. */
export type StreamData = {
  readonly [name in keyof typeof streamMessages]: z.infer<(typeof streamMessages)[name]>;
};

/** A stream of server-sent events, in the form of what it has. */
export const streamSchema = z
  .union(
    Object.entries(streamMessages).map(([event, data]) =>
      z.object({ id: positionSchema.optional(), event: z.literal(event), data }),
    ),
  )
  .meta({ id: 'StreamMessage', description: 'A message; `data` is JSON in one line.' });
