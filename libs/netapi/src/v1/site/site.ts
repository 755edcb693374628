import type { DescribedApp } from '@brine/http';
import type { V1Parts } from '../parts.ts';
import { addConfig } from './config.ts';
import { addDoctor } from './doctor.ts';
import { addFunctions } from './functions.ts';
import { addNodegroups } from './nodegroups.ts';
import { addServices } from './services.ts';
import { addTemplates } from './templates.ts';

/** What a caller sees of the master itself. */
export function addSite(app: DescribedApp, parts: V1Parts): void {
  addServices(app, parts);
  addDoctor(app, parts);
  addNodegroups(app, parts);
  addTemplates(app, parts);
  addConfig(app, parts);
  addFunctions(app, parts);
}
