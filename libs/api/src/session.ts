import { z } from 'zod';
import { timeSchema } from './times.ts';

/** What a person logs in with. */
const logInSchema = z
  .strictObject({
    username: z.string().min(1).max(1_024),
    password: z.string().max(65_536),
    eauth: z.string().min(1).max(256).describe('A module of `external_auth`, for example `pam`.'),
  })
  .meta({ id: 'LogIn' });

/** A code that is good once. */
const codeSchema = z
  .strictObject({
    code: z.string().min(1).max(256).describe('As `brine console` printed it; good once.'),
  })
  .meta({ id: 'CodeLogIn' });

/** What a session is begun with. */
export const anyLogInSchema = z.union([logInSchema, codeSchema]);

/** A log-in that stands for its caller until it ends. */
export const sessionSchema = z
  .object({
    principal: z.string().describe('The name that rights are given to.'),
    eauth: z.string().describe('A module; `local key` after a log-in by a code.'),
    started: timeSchema,
    expires: timeSchema,
  })
  .meta({ id: 'Session' });
export type SessionShown = z.infer<typeof sessionSchema>;

/** What a person may log in with, and whether that is done. */
export const logInsSchema = z
  .object({
    modules: z
      .array(z.string())
      .describe('The modules of `external_auth` that take a name and a password.'),
    elsewhere: z
      .string()
      .optional()
      .describe('Name of the provider that a browser logs in at, by `/login/oidc`.'),
    session: sessionSchema.optional().describe('The log-in of the request itself.'),
  })
  .meta({ id: 'LogIns' });
