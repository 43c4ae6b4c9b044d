export { type Cluster, NoPostgresError, startCluster } from './cluster.ts'
export { createDatabase } from './database.ts'
