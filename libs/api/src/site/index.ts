export type { Config, Nodegroups, Templates } from './configuration.ts';
export {
  configSchema,
  nodegroupsQuery,
  nodegroupsSchema,
  templatesSchema,
} from './configuration.ts';
export type { Doctor } from './doctor.ts';
export { doctorSchema } from './doctor.ts';
export type { MasterFunction, MasterFunctions } from './functions.ts';
export { functionParams, functionSchema, functionsQuery, functionsSchema } from './functions.ts';
export type { ServiceReport, Services } from './services.ts';
export { servicesSchema } from './services.ts';
