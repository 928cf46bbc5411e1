import type { Database, DatabaseConfig } from './database.ts';
import { openEmbedded } from './embedded.ts';
import { connectServer } from './server.ts';

/** Opens the database that the settings name and brings it up to date; throws when it cannot be reached. */
export async function openDatabase(config: DatabaseConfig): Promise<Database> {
  const database = await connectDatabase(config);
  try {
    await database.migrate();
    await database.unready();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Opens the database as it is; throws when it cannot be reached, or when another process has the embedded one. */
export async function connectDatabase(config: DatabaseConfig): Promise<Database> {
  return config.DATABASE_URL ? connectServer(config.DATABASE_URL, config) : openEmbedded(config.DATA_DIR);
}
