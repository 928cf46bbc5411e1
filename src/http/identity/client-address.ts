import ipaddr from 'ipaddr.js';

/** The network of one home or machine in IPv6, whose addresses it chooses freely. */
const NETWORK_BITS = 64;

/**
 * Where a client comes from, as limits count: an IPv4 address, also where it is written as IPv6, or the network of an IPv6
 * address. All that is no address counts as one.
 */
export function clientAddress(ip: string | undefined): string {
  if (!ip || !ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${ip.split('%')[0]}/${NETWORK_BITS}`).toString();
}
