// The pure layer starts nothing: no process, no server. A test that needs one belongs to the layer
// of served tests, where servers are shared, and says so by its name.
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const refuse = (what: string) => (): never => {
  throw new Error(`${what} in the pure layer: name the file *.served.test.ts or *.deep.test.ts`);
};

Object.assign(childProcess.ChildProcess.prototype, { spawn: refuse('a process') });
for (const name of ['execFileSync', 'execSync', 'spawnSync'] as const) {
  childProcess[name] = refuse('a process');
}
net.Server.prototype.listen = refuse('a server');
syncBuiltinESMExports();
