import { accessOptions } from './access.ts';
import { brineOptions } from './brine.ts';
import { eventOptions } from './events.ts';
import { fileOptions } from './files.ts';
import { functionOptions } from './functions.ts';
import { gitPillarOptions } from './git-pillar.ts';
import { gitfsOptions } from './gitfs.ts';
import { httpOptions } from './http.ts';
import { jobOptions } from './jobs.ts';
import { keyOptions } from './keys.ts';
import { ldapOptions } from './ldap.ts';
import { loggingOptions } from './logging.ts';
import { mineOptions } from './mine.ts';
import { networkOptions } from './network.ts';
import { pathOptions } from './paths.ts';
import { pillarOptions } from './pillar.ts';
import { stateOptions } from './states.ts';
import { syndicOptions } from './syndic.ts';

/** All options of the master that Brine reads, by the name they have in the file. */
export const masterOptions = {
  ...networkOptions,
  ...pathOptions,
  ...keyOptions,
  ...jobOptions,
  ...accessOptions,
  ...ldapOptions,
  ...httpOptions,
  ...eventOptions,
  ...syndicOptions,
  ...fileOptions,
  ...gitfsOptions,
  ...mineOptions,
  ...pillarOptions,
  ...gitPillarOptions,
  ...stateOptions,
  ...functionOptions,
  ...loggingOptions,
  brine: brineOptions,
} as const;
