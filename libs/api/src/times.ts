import { z } from 'zod';

/** A time in UTC as RFC 3339 has it, with microseconds. */
export const timeSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/)
  .meta({ id: 'Time', example: '2026-11-30T09:15:00.250000Z' });

/** The text of a time. @param seconds unix seconds, with a fraction */
export function timeText(seconds: number): string {
  const microseconds = Math.round(seconds * 1_000_000);
  const ms = Math.floor(microseconds / 1_000);
  const rest = String(microseconds - ms * 1_000).padStart(3, '0');
  return new Date(ms).toISOString().replace('Z', `${rest}Z`);
}
