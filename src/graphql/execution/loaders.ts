import DataLoader from 'dataloader';
import type { Context } from '../../core/context.ts';
import type { ContractFilter } from '../../core/contracts/contract.ts';
import { type ContractParent, contractsOfParents, countContractsOfParents } from '../../core/contracts/contracts.ts';
import { FleetNotFound, VehicleNotFound } from '../../core/errors.ts';
import type { EventFilter } from '../../core/events/event.ts';
import { countTimelines, type EventSubject, timelines } from '../../core/events/timelines.ts';
import type { Fleet } from '../../core/fleets/fleet.ts';
import { fleetsById } from '../../core/fleets/fleets.ts';
import { countImportsOfFleets, importsOfFleets } from '../../core/imports/fleet-imports.ts';
import { nodesById } from '../../core/nodes/nodes.ts';
import type { NodeParts } from '../../core/sql/node.ts';
import type { Page } from '../../core/sql/page.ts';
import type { Selection } from '../../core/sql/selection.ts';
import type { Vehicle, VehicleFilter } from '../../core/vehicles/vehicle.ts';
import {
  countVehiclesOfFleets,
  eligibilitySummaries,
  vehiclesById,
  vehiclesOfFleets,
} from '../../core/vehicles/vehicles.ts';

type Filtered<Filter> = { filter?: Filter | null | undefined };
type EventsOf = { subject: EventSubject } & Filtered<EventFilter>;
type ContractsOf = { parent: ContractParent } & Filtered<ContractFilter>;

export type Loaders = ReturnType<typeof openLoaders>;

/**
 * What nested fields read through: all that a level of a query needs of one kind is one statement, however many parents
 * there are. Answers are remembered for the request; a stream of events must not (`cache: false`).
 */
export function openLoaders(ctx: Context, options: { cache: boolean }) {
  /** One DataLoader for each set of arguments, since one statement serves one set. */
  const all: { clearAll(): unknown }[] = [];
  function byArguments<Args, Value, Fields = undefined>(
    read: (args: Args, ids: readonly string[], fields: Fields | undefined) => Promise<Map<string, Value>>,
  ) {
    const loaders = new Map<string, DataLoader<string, Value>>();
    return (id: string, args: Args, fields?: Fields): Promise<Value> => {
      const key = JSON.stringify([args, fields]);
      const loader =
        loaders.get(key) ??
        new DataLoader<string, Value>(async (ids) => {
          const found = await read(args, ids, fields);
          return ids.map((one) => found.get(one) ?? new Error(`nothing was read for ${one}`));
        }, options);
      if (!loaders.has(key)) all.push(loader);
      loaders.set(key, loader);
      return loader.load(id);
    };
  }

  const fleets = new DataLoader<string, Fleet>(
    async (ids) => (await fleetsById(ctx, ids)).map((fleet) => fleet ?? new FleetNotFound()),
    options,
  );
  const vehicles = new DataLoader<string, Vehicle>(
    async (ids) => (await vehiclesById(ctx, ids)).map((vehicle) => vehicle ?? new VehicleNotFound()),
    options,
  );
  all.push(fleets, vehicles);

  const nodes = byArguments(async (parts: NodeParts, ids) => {
    const found = await nodesById(ctx, ids, parts);
    return new Map(ids.map((id, at) => [id, { node: found[at] ?? null }]));
  });

  return {
    /** With the name of its type. */
    async node(id: string, parts: NodeParts) {
      const { node } = await nodes(id, parts);
      return node && { ...node.value, __typename: node.type };
    },
    /** What was read so far is read anew from now on. */
    forget(): void {
      for (const loader of all) loader.clearAll();
    },
    fleet: (id: string) => fleets.load(id),
    vehicle: (id: string) => vehicles.load(id),
    vehiclesOfFleet: byArguments(
      (args: { page: Page } & Filtered<VehicleFilter>, fleetIds, fields: Selection<Vehicle> | undefined) =>
        vehiclesOfFleets(ctx, { ...args, fleetIds, fields }),
    ),
    countVehiclesOfFleet: byArguments((args: Filtered<VehicleFilter>, fleetIds) =>
      countVehiclesOfFleets(ctx, { ...args, fleetIds }),
    ),
    eligibilitySummary: byArguments((_args: null, fleetIds) => eligibilitySummaries(ctx, fleetIds)),
    importsOfFleet: byArguments((args: { page: Page }, fleetIds) => importsOfFleets(ctx, { ...args, fleetIds })),
    countImportsOfFleet: byArguments((_args: null, fleetIds) => countImportsOfFleets(ctx, fleetIds)),
    contracts: byArguments((args: { page: Page } & ContractsOf, ids) => contractsOfParents(ctx, { ...args, ids })),
    countContracts: byArguments((args: ContractsOf, ids) => countContractsOfParents(ctx, { ...args, ids })),
    timeline: byArguments((args: { page: Page; vehicles: boolean } & EventsOf, ids) =>
      timelines(ctx, { ...args, ids }),
    ),
    countTimeline: byArguments((args: EventsOf, ids) => countTimelines(ctx, { ...args, ids })),
  };
}
