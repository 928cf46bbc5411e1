import { defineConfig } from '@mikro-orm/postgresql';
import { ormOptions } from './src/database/orm.ts';
import { toolOptions } from './src/database/postgresql.ts';

const { DATABASE_URL } = process.env;

/** For MikroORM's own tools, which work on a server; the service itself opens its database in src/database/open-database.ts. */
export default defineConfig(DATABASE_URL ? await toolOptions(DATABASE_URL) : ormOptions);
