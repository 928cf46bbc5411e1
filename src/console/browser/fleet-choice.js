import { ask } from './api.js';
import { useQuery } from './query.js';

/** 1,000 is the most that a page of a list has. */
const fleetsQuery = '{ fleets(first: 1000, orderBy: { field: NAME }) { nodes { id name } } }';
const pairs = (data) => (data?.fleets.nodes ?? []).map(({ id, name }) => [id, name]);

/** All fleets by name, as options of a field. Throws ApiError. */
export const fleetOptions = async () => pairs(await ask(fleetsQuery, {}));

/** All fleets by name, as options of a filter that follows changes. */
export const useFleetOptions = () => pairs(useQuery(fleetsQuery, {}, ({ type }) => type.startsWith('FLEET_')).data);
