import { fleet } from '../../core/fleets/fleet.ts';
import { objectOf } from './described.ts';

/** The type Fleet, which other types have fields of; its fields of other types stand with these. */
export const FleetRef = objectOf('Fleet', fleet);
