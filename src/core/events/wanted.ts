import { type SqlBool, sql } from 'kysely';

/** Whether a webhook `w` wants an event `e`: the condition that decides of every delivery, but for tests, which go to one. */
export const wanted = sql<SqlBool>`(e.type <> 'webhook.test' and (w.types = '{}' or e.type = any(w.types)))`;
