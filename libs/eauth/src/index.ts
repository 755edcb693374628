export { LoginError } from './login-module.ts';
export { LoginModules } from './login-modules.ts';
export { Pam } from './pam.ts';
export { PasswordFile } from './password-file.ts';
export { everybody, sharedSecret } from './simple-modules.ts';
export type { Credentials, KnownUser, LoginModule, ModuleSettings } from './login-module.ts';
export type { LoginModulesOptions } from './login-modules.ts';
export type { PamOptions } from './pam.ts';
