import { z } from 'zod';

/** A JSON value: what functions take and give. */
export const value = z.unknown().describe('Any JSON value.');
