import type { Selectable } from 'kysely';
import type { Tables } from '../sql/table-types.ts';

// Where a company is, in each installation's own table `placement`. Where it is not mentioned, it is where it was made. A move goes:
//
//   source   -         COPYING   DRAINING  HELD      HELD     LEFT     LEFT  ELSEWHERE
//   target   ARRIVING  ARRIVING  ARRIVING  ARRIVING  ARRIVED  ARRIVED  HERE  HERE
//
// Never do both serve it: the target begins after the source has recorded that it has left. Proxies are told before it is ELSEWHERE.

export type PlacementState = Selectable<Tables['placement']>['state'];
export type Placement = Pick<Selectable<Tables['placement']>, 'company' | 'state' | 'installation' | 'fence'>;

/** Processes are told of changes on this channel. */
export const placementChannel = 'placement';
