import { z } from 'zod';
import { pageParts, pageQuery } from '../pages.ts';
import { timeSchema } from '../times.ts';
import { keyStateSchema } from './minions.ts';

const ID_MAX = 255;
/** Keys of one act. */
const ACT_MAX = 1_000;

/** A fingerprint by SHA-256: pairs of hex digits between colons. */
const fingerprintText = z.string().regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){31}$/);

const fingerprintsSchema = z
  .object({
    salt3006: fingerprintText.describe('As `salt-call --local key.finger` prints it.'),
    salt3008: fingerprintText.describe('As `salt-key -F` of Salt 3008 prints it.'),
  })
  .meta({ id: 'Fingerprints', description: 'By SHA-256, of one key in both forms.' });

/** The parameters of a list of keys. */
export const keysQuery = z.strictObject({
  state: keyStateSchema.optional().describe('denied: all ids with a denied key.'),
  q: z
    .string()
    .min(1)
    .max(ID_MAX)
    .regex(/^[^[\]]*$/)
    .optional()
    .describe('A part of the id, or a pattern for all of it with `*` and `?`.'),
  ...pageQuery,
});

/** The keys of one id. */
export const keySchema = z
  .object({
    id: z.string(),
    state: keyStateSchema,
    fingerprints: fingerprintsSchema
      .nullable()
      .describe('Null: the only keys are denied ones, or it has just been deleted.'),
    denied: z.array(fingerprintsSchema).describe('Other keys that were offered for this id.'),
    changed: timeSchema.nullable(),
  })
  .meta({ id: 'Key' });
export type KeyShown = z.infer<typeof keySchema>;

/** A page of keys. */
export const keysSchema = z
  .object({ items: z.array(keySchema), total: z.int().min(0), ...pageParts })
  .meta({ id: 'Keys' });
export type KeysPage = z.infer<typeof keysSchema>;

const id = z.string().min(1).max(ID_MAX);

/** An act on keys. */
export const keyActSchema = z
  .strictObject({
    act: z.enum(['accept', 'reject', 'delete']),
    ids: z.array(id).min(1).max(ACT_MAX),
    expect: z
      .strictObject({ count: z.int().min(0) })
      .describe(
        'How many of these ids have a key that the act is for: pending ones, to delete all. ' +
          'With another number nothing is done.',
      ),
    fingerprints: z
      .array(z.strictObject({ id, fingerprint: fingerprintText }))
      .max(ACT_MAX)
      .optional()
      .describe('In either form. With these, other keys, and ids without one, are left alone.'),
  })
  .meta({ id: 'KeyAct' });
export type KeyAct = z.output<typeof keyActSchema>;

/** What an act did. */
export const keyActedSchema = z
  .object({
    results: z.array(
      z.object({
        id: z.string(),
        result: z
          .enum(['done', 'no-key', 'other-key', 'unchanged'])
          .describe(
            'no-key: none that the act is for. other-key: another fingerprint. unchanged: the ' +
              'master left it as it was.',
          ),
      }),
    ),
  })
  .meta({ id: 'KeyActed' });
export type KeyActed = z.infer<typeof keyActedSchema>;
