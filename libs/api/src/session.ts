import { z } from 'zod';
import { timeSchema } from './times.ts';

/** What a person logs in with. */
export const logInSchema = z
  .strictObject({
    username: z.string().min(1).max(1_024),
    password: z.string().max(65_536),
    eauth: z.string().min(1).max(256).describe('A module of `external_auth`, for example `pam`.'),
  })
  .meta({ id: 'LogIn' });

/** A log-in that stands for its caller until it ends. */
export const sessionSchema = z
  .object({
    principal: z.string().describe('The name that rights are given to.'),
    eauth: z.string(),
    started: timeSchema,
    expires: timeSchema,
  })
  .meta({ id: 'Session' });
export type SessionShown = z.infer<typeof sessionSchema>;
