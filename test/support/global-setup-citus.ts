import type { TestProject } from 'vitest/node';
import { clusterAt } from './citus-database.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Looks at the cluster of TEST_CITUS_URL; each test file makes a database on all of its nodes. */
export default async function setup(project: TestProject) {
  const url = process.env.TEST_CITUS_URL;
  if (!url) return;
  const cluster = await clusterAt(url);
  console.log(`Cluster of ${cluster.nodes.length} nodes: ${cluster.version}`);
  project.provide('database', { kind: 'postgresql', folder: temporaryFolder('citus'), cluster });
}
