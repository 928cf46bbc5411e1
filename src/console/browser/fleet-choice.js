import { ask } from './api.js';
import { useQuery } from './query.js';

/** The most that a page of a list has; nobody looks through more in a chooser. */
const fleetsQuery = '{ fleets(first: 1000, orderBy: { field: NAME }) { nodes { id name } } }';
const pairs = (data) => (data?.fleets.nodes ?? []).map(({ id, name }) => [id, name]);

/** All fleets by name, as options of a field. Throws ApiError. */
export const fleetOptions = async () => pairs(await ask(fleetsQuery, {}));

/** The same as they are at any time, for filters. */
export const useFleetOptions = () => pairs(useQuery(fleetsQuery, {}, ({ type }) => type.startsWith('FLEET_')).data);
