import { z } from 'zod';
import { momentSchema, positionSchema } from './pages.ts';
import { timeSchema } from './times.ts';

/** Length limits of a tag's or a minion's glob, and of a job's id. */
const GLOB_MAX = 200;
const JID_MAX = 64;
/** Events of one page, at most. */
const PAGE_MAX = 500;

/** The kinds of events that are shown (libs/job event.ts). */
export const EVENT_KINDS_SHOWN = [
  'ret',
  'minion',
  'auth',
  'key',
  'local',
  'syndic',
  'job',
  'hook',
] as const;

/** The two streams of events. */
export const EVENT_STREAMS = ['events', 'publications'] as const;

/** Which events are asked for. */
export const eventsQuery = z.strictObject({
  from: z
    .string()
    .min(1)
    .max(2_048)
    .default('10m')
    .describe(
      'A time (RFC 3339), an age (`30s`, `10m`, `2h`, `1d`), `oldest`, `now`, or a position: ' +
        'events after it.',
    ),
  to: momentSchema.optional().describe('A time or an age: events before it.'),
  tag: z.string().min(1).max(GLOB_MAX).optional().describe('A glob.'),
  minion: z
    .string()
    .min(1)
    .max(GLOB_MAX)
    .optional()
    .describe('A glob of the minions that events are from or about.'),
  jid: z.string().min(1).max(JID_MAX).optional(),
  kind: z.enum(EVENT_KINDS_SHOWN).optional(),
  limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(50).describe('Events of a page.'),
});
export type EventsQuery = z.output<typeof eventsQuery>;

/** An event. */
export const eventSchema = z
  .object({
    position: positionSchema.describe('Reading from here continues after this event.'),
    tag: z.string(),
    at: timeSchema,
    kind: z.enum(EVENT_KINDS_SHOWN),
    jid: z.string().optional(),
    minion: z.string().optional(),
    data: z
      .unknown()
      .optional()
      .describe('Absent for a body above 8 KiB. What JSON can not have: `$bytes`.'),
    size: z.int().optional().describe('Of a body above 8 KiB, in bytes as it is stored.'),
    href: z.string().optional().describe('Where that body is, relative to this address.'),
  })
  .meta({ id: 'Event' });
export type EventShown = z.infer<typeof eventSchema>;

/** A page of events, oldest first. */
export const eventsSchema = z
  .object({
    items: z.array(eventSchema),
    next: positionSchema
      .nullable()
      .describe(
        'Give it as `from` for the next page, which may have items although this one has none; ' +
          'null at the end.',
      ),
    asOf: positionSchema.describe('All events up to here were looked at; a stream continues here.'),
    notices: z.array(z.string()).describe('Sentences about events that may be missing.'),
  })
  .meta({ id: 'Events' });
export type Events = z.infer<typeof eventsSchema>;

/** What names an event. */
export const eventParams = z.strictObject({ position: positionSchema });
export const eventQuery = z.strictObject({ stream: z.enum(EVENT_STREAMS).default('events') });
