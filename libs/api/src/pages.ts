import { z } from 'zod';

/** Items of one page, at most. */
const PAGE_MAX = 500;
const CURSOR_MAX = 2_048;

/** The place in a list after a page; opaque to clients. */
export const cursorSchema = z
  .string()
  .min(1)
  .max(CURSOR_MAX)
  .regex(/^[\w-]+$/)
  .describe('The `next` of the page before.');

/** The form of a position (libs/bus position.ts). */
const POSITION = /^\d{1,15}(\.\d{1,5})?-\d{1,15}(\.\d{1,5})?_[0-9a-f]{8}$/;

/** A place in the streams of events. */
export const positionSchema = z
  .string()
  .regex(POSITION, 'is no position of an event')
  .meta({ id: 'Position', description: 'A place in the streams of events.' });

/** A moment that a list is asked for, as `momentOf` of libs/netapi reads it. */
export const momentSchema = z
  .string()
  .min(1)
  .max(64)
  .meta({ id: 'Moment', description: 'A time (RFC 3339), or an age: `30s`, `10m`, `2h`, `1d`.' });

/** The parameters that each list takes. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(50).describe('Items of a page.'),
  after: cursorSchema.optional(),
};

/** A parameter that is on or off. */
export const flagSchema = z.enum(['true', 'false']).transform((text) => text === 'true');

/** For an address without parameters. */
export const noQuery = z.strictObject({});

/** What a page has besides its items. */
export const pageParts = {
  next: z
    .string()
    .nullable()
    .describe('Give it as `after` for the next page; null on the last one.'),
};
