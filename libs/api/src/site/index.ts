export type { Config, Nodegroups, Templates } from './configuration.ts';
export {
  configSchema,
  nodegroupsQuery,
  nodegroupsSchema,
  templatesSchema,
} from './configuration.ts';
export type { Services } from './services.ts';
export { servicesSchema } from './services.ts';
