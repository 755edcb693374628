import { z } from 'zod';

/** Minions of a list; a command names no more. */
const LIST_MAX = 100_000;
const TEXT_MAX = 1_048_576;

/** The ways to name minions, as Salt has them. */
const TARGET_TYPES = [
  'glob',
  'pcre',
  'list',
  'grain',
  'grain_pcre',
  'pillar',
  'pillar_pcre',
  'pillar_exact',
  'nodegroup',
  'range',
  'compound',
  'ipcidr',
] as const;

/** How a command names its minions. */
export const targetFields = {
  tgt: z.union([
    z.string().min(1).max(TEXT_MAX),
    z.array(z.string().min(1).max(1_024)).min(1).max(LIST_MAX),
  ]),
  tgtType: z.enum(TARGET_TYPES).default('glob'),
};

/** Minions to be counted before a command is sent to them. */
export const targetSchema = z
  .strictObject({
    ...targetFields,
    fun: z
      .string()
      .min(1)
      .max(1_024)
      .default('test.ping')
      .describe('The function that would run: rights may depend on it.'),
  })
  .meta({ id: 'Target' });

/** The minions that a command would be sent to. */
export const resolvedSchema = z
  .object({
    count: z.int().min(0),
    digest: z
      .string()
      .describe('Names exactly these minions: it differs as soon as one comes or goes.'),
    sample: z.array(z.string()).describe('The first fifty ids, sorted.'),
    present: z
      .int()
      .min(0)
      .nullable()
      .describe('How many of them are connected; null for more than 20,000.'),
    missing: z
      .array(z.string())
      .describe('Of a list: the first fifty ids that have no accepted key.'),
  })
  .meta({ id: 'Resolved' });
export type Resolved = z.infer<typeof resolvedSchema>;
