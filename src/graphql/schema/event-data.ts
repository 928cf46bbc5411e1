import { eventDataTypes, fleetChange } from '../../core/events/event-data.ts';
import type { Event } from '../../core/events/events.ts';
import type { Cost } from '../execution/cost.ts';
import { Planned } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { objectOf } from './described.ts';
import { EligibilityStatus } from './eligibility.ts';

objectOf('FleetChange', fleetChange);

/** Fields of a fleet. */
const MOST_CHANGES = 4;
const except: Readonly<Record<string, object>> = {
  FleetUpdatedData: { changes: { extensions: { size: MOST_CHANGES } satisfies Cost } },
  EligibilityChangedData: { fromStatus: { type: EligibilityStatus }, toStatus: { type: EligibilityStatus } },
};

export const EventData = builder.unionType('EventData', {
  description: 'What changed, by the type of the event: all four types of contracts have `ContractData`.',
  types: Object.entries(eventDataTypes).map(([name, { schema }]) => objectOf(name, schema, except[name])),
  resolveType: (data) => (data instanceof Planned ? data.type : (data as { __typename: string }).__typename),
});

const typeNames: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(eventDataTypes).flatMap(([name, { types }]) => types.map((type) => [type, name])),
);

/** The data of an event that core gave. */
export function dataOf({ type, ...event }: Event): object {
  const name = typeNames[type] ?? 'OtherData';
  return { __typename: name, ...eventDataTypes[name]?.show(event) };
}
