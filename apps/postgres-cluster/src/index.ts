export { type Cluster, NoPostgresError, startCluster } from './cluster.ts'
export { type CuttingProxy, cuttingProxy } from './cutting-proxy.ts'
export { createDatabase } from './database.ts'
