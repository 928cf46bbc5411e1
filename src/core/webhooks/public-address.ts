import ipaddr from 'ipaddr.js';

/** Public by number, but a cloud's own services to the machines inside it. */
const INSIDE = new Set(['168.63.129.16']);
/** The whole of the IPv6 internet; what lies outside is reserved, local, or an IPv4 address in disguise. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/**
 * Whether anybody on the internet could reach this address: no private, loopback, link-local, shared (CGNAT),
 * multicast, metadata or translated one. With `loopback`, this machine itself counts too.
 */
export function mayBeReached(address: string, { loopback }: { loopback: boolean }): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range === 'loopback') return loopback;
  if (range !== 'unicast' || INSIDE.has(address)) return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}
