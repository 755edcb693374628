import { z } from 'zod';

/** An answer without a body. */
export const nothingSchema = z.undefined().describe('Nothing.');
