/** Statements that Citus does not plan as one task, by what stands in them, with the plan that they may have and why. */
export interface Exception {
  plan: 'all shards' | 'all shards, subplans' | 'one, subplans' | 'subplans';
  why: string;
  statements: RegExp[];
}

export const exceptions: Exception[] = [
  {
    plan: 'all shards',
    why: 'Looks for companies with something to do, without locks; what is done is done for each company.',
    statements: [
      /^select "company", "kind", max\("room"\)/,
      /^select "company", "id" from "webhook" where "due_at" <=/,
      /^select .* from "schedule" where "kind" =/,
      /^select "company", "fleet_id" from "vehicle_tally" where "company" = any/,
      /^select "company", "id" from "fleet" where "deletion" is not null/,
      /^select "v"\."manufacturer" as "brand"/,
      /^select "company", "id" from "import" where "finished_at" </,
      /^select "import"\."id".* where "import"\."due_at" <=/s,
    ],
  },
  {
    plan: 'all shards',
    why: 'Whoever needs no token names a fleet or a contract, and that its company.',
    statements: [
      /^select "company" from "fleet" where "id" = \$1 and "deletion" is null$/,
      /^select \('\{.* from contract c .* where not exists \(select from fleet gone/s,
    ],
  },
  {
    plan: 'all shards',
    why: 'Upkeep: what belongs to no import that runs, once a minute at most.',
    statements: [/^delete from "import_batch" as "b" where not exists/],
  },
  {
    plan: 'all shards, subplans',
    why: 'Upkeep: what is past its time, some thousand rows at a time, whosesoever they are.',
    statements: [/^with "old" as/],
  },
  {
    plan: 'all shards, subplans',
    why: 'Companies with something to publish, or with new events: the first, or latest, events of all shards.',
    statements: [/^select (distinct )?"company".* from \(select "company" from "event"/],
  },
  {
    plan: 'all shards, subplans',
    why: 'A contract that is deleted without a token: nobody says whose it is.',
    statements: [/^with "c" as \(delete from "contract" as "c" where \("c"\."id" = \$1 and not exists /],
  },
  {
    plan: 'all shards, subplans',
    why: 'What waits, of all companies, for operators.',
    statements: [/^select 'vehicle'::text as "kind"/],
  },
  {
    plan: 'one, subplans',
    why: 'Writes of several tables in one statement: Citus runs each step by itself, all of them on the node of the company.',
    statements: [
      /^with "(made|known|c|v|test|next|held|kept|due|log|new|entry)" as/,
      /^insert into "event" .* from \(select "company", "fleet_id", null::uuid as "contract_id", array_agg/s,
    ],
  },
];
