import { z } from 'zod';
import { timeSchema } from '../times.ts';

const TEXT_MAX = 1_024;
/** Failures that are kept. */
const KEPT = 1_000;

const tag = z.string().min(1).max(TEXT_MAX).describe('A glob of tags.');

/** Which files react to which tags. */
export const reactorSchema = z
  .object({
    items: z.array(z.object({ event: z.string(), reactors: z.array(z.string()) })),
    reason: z.string().optional().describe('Why there are none.'),
  })
  .meta({ id: 'Reactor' });
export type Reactor = z.infer<typeof reactorSchema>;

/** The parameters of a list of failures. */
export const failuresQuery = z.strictObject({
  tag: tag.optional(),
  limit: z.coerce.number().int().min(1).max(KEPT).default(50).describe('The newest ones.'),
});

/** Reactions that failed, newest first. */
export const failuresSchema = z
  .object({
    items: z.array(
      z.object({
        id: z.string().describe('The stream and the position of the event.'),
        at: timeSchema,
        tag: z.string(),
        kind: z.string().describe('`missing`, `render`, `compile`, `refused`, `call` or `poison`.'),
        what: z.string().describe('The file, or the declaration in it; empty for all of it.'),
        why: z.string(),
      }),
    ),
    counted: z.int().min(0).describe(`All since the cluster began; the newest ${KEPT} are kept.`),
    waiting: z.int().min(0).describe('Reactions in the queue.'),
  })
  .meta({ id: 'ReactionFailures' });
export type ReactionFailures = z.infer<typeof failuresSchema>;

/** A change of the list. */
export const reactorActSchema = z
  .discriminatedUnion('act', [
    z.strictObject({
      act: z.literal('add'),
      event: tag,
      reactors: z
        .array(z.string().min(1).max(TEXT_MAX))
        .min(1)
        .max(100)
        .describe('Paths, globs of paths, or `salt://`.'),
    }),
    z.strictObject({ act: z.literal('delete'), event: tag }),
  ])
  .meta({ id: 'ReactorAct' });
export type ReactorAct = z.input<typeof reactorActSchema>;

/** What a function of the master did, in its own words. */
export const actedSchema = z.object({ comment: z.string() }).meta({ id: 'Acted' });
export type Acted = z.infer<typeof actedSchema>;
