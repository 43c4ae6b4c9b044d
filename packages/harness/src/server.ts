/** Scripted model endpoints on a plain HTTP server, in this process or in a child process. MSW is not required. */

export * from './both-doors.ts'
export {
  type ModelServer,
  type Served,
  type ServedOptions,
  type ServeModelsOptions,
  serveModels,
} from './serve-models.ts'
export { type SpawnModelServerOptions, spawnModelServer } from './spawn-model-server.ts'
