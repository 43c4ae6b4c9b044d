/** Model endpoints on a plain HTTP server, in this process or in one of its own: nothing here needs MSW. */

export { clock } from './clock.ts'
export { HarnessError, UnexpectedRequestError, UnusedResponseError } from './errors.ts'
export type { JournalEntry } from './journal.ts'
export type { ResponseLog, WriteLog } from './log.ts'
export { type Recording, type RecordingOptions, recordedResponse, recordedResponses } from './replay.ts'
export type { Reply, Script } from './script.ts'
export {
  type ModelServer,
  type Served,
  type ServedOptions,
  type ServeModelsOptions,
  serveModels,
} from './serve-models.ts'
export type { Slice } from './slice.ts'
export { type SpawnModelServerOptions, spawnModelServer } from './spawn-model-server.ts'
export type { WireName } from './wires/wire.ts'
export { WIRE_NAMES } from './wires/wires.ts'
