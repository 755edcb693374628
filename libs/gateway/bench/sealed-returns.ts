// What a sealed return costs in the gateway's own code: node --conditions=source --import tsx
// libs/gateway/bench/sealed-returns.ts [returns]. Sockets and NATS are faked.
import { gatewayRig } from './gateway-rig.ts';

const ROUNDS = 7;
const returns = Number(process.argv[2] ?? 20_000);

const rig = await gatewayRig();
let best = Infinity;
for (let round = 0; round < ROUNDS; round += 1) best = Math.min(best, await rig.run(returns));
await rig.close();
process.stdout.write(`${best.toFixed(2).padStart(10)} µs of CPU  sealed return\n`);
