const kinds = ['vehicle', 'contract', 'delivery'];

/** Adds an entry for each company that has something due, now or later, as rows do that are written by SQL. */
export const scheduleAll = `insert into schedule (company, kind, due_at)
  ${kinds
    .map((kind) => `select company, '${kind}', min(due_at) from ${kind} where due_at is not null group by company`)
    .join(' union all ')}`;
