import { fleet } from '../../core/fleets/fleet.ts';
import { objectOf } from './described.ts';

/** The type Fleet, which other types have fields of; its own fields that are lists stand in fleets.ts. */
export const FleetRef = objectOf('Fleet', fleet);
