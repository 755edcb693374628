export { OidcPeer } from './oidc-peer.ts';
