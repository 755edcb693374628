import { ApiConnection } from '../api/api-connection.ts';
import { ApiRefusedError } from '../api/api-errors.ts';
import { apiUrl } from '../api/api-url.ts';
import { logOut } from '../api/log-in.ts';
import { changeSessions, readSessions, sessionFile } from '../api/session-file.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';
import { inWordsOfApi } from './login.ts';

const DESCRIPTION = `Ends the session of \`brine login\` at an address, by default the last one. Its
token is revoked on the master. If the master can not be reached, the session stays stored.`;

/** `brine logout [URL]`: ends a session, and forgets it. Returns the exit code. */
export async function runLogout(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(brineForm('logout', DESCRIPTION, [], '[options] [url]'));
  const { args: words } = parser.parse(args);
  if (words.length > 1) throw parser.error('one address is enough');
  const path = sessionFile();
  const { last, sessions } = readSessions(path);
  const url = words[0] === undefined ? last : apiUrl(words[0]);
  const session = url === undefined || !Object.hasOwn(sessions, url) ? undefined : sessions[url];
  if (url === undefined || session === undefined) {
    throw new Exit(EXIT.noReturn, `brine: there is no session${url ? ` at ${url}` : ''}\n`);
  }
  const api = new ApiConnection(url, session.ca, session.token);
  try {
    await logOut(api).catch((error: unknown) => {
      // It has ended already.
      if (!(error instanceof ApiRefusedError) || error.status !== 401) throw error;
    });
  } catch (error) {
    throw inWordsOfApi(error);
  } finally {
    api.close();
  }
  await changeSessions(path, ({ sessions: { [url]: _ended, ...others }, ...rest }) => ({
    ...(rest.last === undefined || rest.last === url ? {} : { last: rest.last }),
    sessions: others,
  }));
  terminal.out(`Logged out at ${url}.\n`);
  return EXIT.ok;
}
