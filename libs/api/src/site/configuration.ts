import { z } from 'zod';
import { cursorSchema, pageParts } from '../pages.ts';

/** Nodegroups of a page: each is compared with the whole fleet. */
const GROUPS_MAX = 50;

/** The parameters of a list of nodegroups. */
export const nodegroupsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(GROUPS_MAX).default(20).describe('Items of a page.'),
  after: cursorSchema.optional(),
});

/** A page of nodegroups. */
export const nodegroupsSchema = z
  .object({
    items: z.array(
      z.object({
        name: z.string(),
        expression: z.string().nullable().describe('Null without the right to the options.'),
        count: z
          .int()
          .min(0)
          .nullable()
          .describe(
            'Its minions that the caller sees; of a group by pillars those whose pillar it may ' +
              'read. Null if to count them takes too much work.',
          ),
      }),
    ),
    ...pageParts,
  })
  .meta({ id: 'Nodegroups' });
export type Nodegroups = z.infer<typeof nodegroupsSchema>;

/** Commands that the operator has prepared. */
export const templatesSchema = z
  .object({
    items: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        target: z.string(),
        targetType: z.string(),
        command: z
          .string()
          .describe('As in SaltGUI: with `runners.` or `wheel.` first it is one of the master.'),
      }),
    ),
  })
  .meta({ id: 'Templates', description: 'The option `saltgui_templates`.' });
export type Templates = z.infer<typeof templatesSchema>;

/** The options of the master. */
export const configSchema = z
  .object({ values: z.record(z.string(), z.unknown()).describe('By their names in the file.') })
  .meta({ id: 'Config' });
export type Config = z.infer<typeof configSchema>;
