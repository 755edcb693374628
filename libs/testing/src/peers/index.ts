export { authLoad, newNonce, TestPeer } from './test-peer.ts';
