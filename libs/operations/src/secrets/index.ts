export type { Secret } from './secret-scanner.ts';
export { SecretScanner } from './secret-scanner.ts';
