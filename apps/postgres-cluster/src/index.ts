export { findBinaries, NoPostgresError } from './binaries.ts'
export { type Cluster, startCluster } from './cluster.ts'
export { type CuttingProxy, cuttingProxy } from './cutting-proxy.ts'
export { createDatabase } from './database.ts'
