import { z } from 'zod';

/** Characters of a packed load: 4 MiB of msgpack. An argument or a list of minions is in it. */
const LOAD_MAX = 5_592_408;

const packed = (what: string) =>
  z.string().meta({
    contentEncoding: 'base64',
    contentMediaType: 'application/msgpack',
    description: what,
  });

/** Options of the master that a command needs to wait and to print as on the master's host. */
export const commandOptionsSchema = z
  .object({
    principal: z.string().describe('The caller.'),
    readsAll: z.boolean().describe('True if the caller may read each job and each event.'),
    options: z
      .record(z.string(), z.unknown())
      .describe("Options of the master's file that shape waiting and printing."),
  })
  .meta({ id: 'CommandOptions' });
export type CommandOptions = z.infer<typeof commandOptionsSchema>;

/** A clear load of a command, without credentials. */
export const commandRequestSchema = z
  .strictObject({ load: packed('The load; the session proves its caller.').max(LOAD_MAX) })
  .meta({ id: 'CommandRequest' });

/** The answer of a worker. */
export const commandReplySchema = z
  .object({ reply: packed('The answer, as port 4506 gives it.') })
  .meta({ id: 'CommandReply' });

/** A message of the stream of a command. */
export const commandEventSchema = z
  .object({
    event: z.literal('message'),
    data: packed('The pair of tag and data, as port 4506 gives it.'),
  })
  .meta({ id: 'CommandEvent', description: 'An event; other lines are comments.' });

/** Which events a command is sent. */
export const commandEventsQuery = z.strictObject({
  only: z
    .enum(['own'])
    .optional()
    .describe('`own`: events of jobs and runs that the caller began. Else all that it may read.'),
});
