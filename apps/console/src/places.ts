/** Where the console is on its master, with a slash at the end. Files of the build are below it. */
export const CONSOLE_PATH = import.meta.env.DEV
  ? '/'
  : new URL(/* @vite-ignore */ '..', import.meta.url).pathname;

/** Where the API is, without a slash at the end: beside the console. */
export const API_PATH = new URL('../v1', new URL(CONSOLE_PATH, window.location.origin)).pathname;

/** Where a browser begins a log-in at a provider: beside the console too. */
export const ELSEWHERE_PATH = new URL(
  '../login/oidc',
  new URL(CONSOLE_PATH, window.location.origin),
).pathname;
