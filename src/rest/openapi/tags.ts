/** The groups of operations, in the order of the reference. */
export const tags = {
  Fleets: 'A fleet is a group of vehicles of one company.',
  Vehicles: 'Vehicles are added to a fleet by their VIN, as a JSON list or as a CSV file.',
  Eligibility: 'Whether a vehicle may join its manufacturer’s connected-data program, as the manufacturer says.',
  Imports: 'What became of an uploaded file and its rows.',
  Contracts: 'A contract ties a vehicle of a fleet to a pack of its manufacturer for a period of time.',
  Search: 'Whatever has a text in its name or VIN.',
  Manufacturers: 'Whose vehicles are known, and for which of them eligibility can be asked.',
  Company: 'The company of the token: its totals, and what happened in it as people see it.',
  Events: 'What happened, who did it and what changed: a log that can be read, followed and resumed.',
  Webhooks: 'Events, delivered to an address of yours.',
  Operation: 'For those who run the service.',
} as const;

export type Tag = keyof typeof tags;
