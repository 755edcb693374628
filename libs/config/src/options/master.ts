import { accessOptions } from './access.ts';
import { brineOptions } from './brine.ts';
import { eventOptions } from './events.ts';
import { fileOptions } from './files.ts';
import { jobOptions } from './jobs.ts';
import { keyOptions } from './keys.ts';
import { loggingOptions } from './logging.ts';
import { networkOptions } from './network.ts';
import { pathOptions } from './paths.ts';
import { syndicOptions } from './syndic.ts';

/** All options of the master that Brine reads, by the name they have in the file. */
export const masterOptions = {
  ...networkOptions,
  ...pathOptions,
  ...keyOptions,
  ...jobOptions,
  ...accessOptions,
  ...eventOptions,
  ...syndicOptions,
  ...fileOptions,
  ...loggingOptions,
  brine: brineOptions,
} as const;
