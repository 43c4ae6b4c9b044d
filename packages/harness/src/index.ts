/** Model endpoints that speak a script, mocked with MSW. */

export { clock } from './clock.ts'
export { HarnessError, UnexpectedRequestError, UnusedResponseError } from './errors.ts'
export type { JournalEntry } from './journal.ts'
export type { ResponseLog, WriteLog } from './log.ts'
export { type MockModels, type MockModelsOptions, mockModels } from './msw.ts'
export { type Recording, type RecordingOptions, recordedResponse, recordedResponses } from './replay.ts'
export type { Reply, Script } from './script.ts'
export type { Slice } from './slice.ts'
export type { WireName } from './wires/wire.ts'
export { WIRE_NAMES } from './wires/wires.ts'
