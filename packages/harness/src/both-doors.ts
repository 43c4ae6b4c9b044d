/** Exports everything that is available both with and without MSW. */

export { clock } from './clock.ts'
export type { Slice } from './cutter.ts'
export type { Difference } from './difference.ts'
export {
  HarnessError,
  RefusedRequestError,
  RequestMismatchError,
  UnexpectedRequestError,
  UnusedResponseError,
} from './errors.ts'
export type { Expecting, RequestCheck, RequestPattern } from './expectation.ts'
export type { Failing, Fault } from './fault.ts'
export type { JournalEntry } from './journal.ts'
export type { ResponseLog, WriteLog } from './log.ts'
export {
  type Broken,
  type Ending,
  type RawBytes,
  type RawEnd,
  type RawEvent,
  type RawResponse,
  type RawStep,
  type RawTime,
  rawResponse,
} from './raw.ts'
export { DisprovedRuleError } from './record/judged-rules.ts'
export { type ModelRecorder, type RecordModelsOptions, recordModels } from './record/record-models.ts'
export {
  parseRecording,
  type RecordedEnd,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
  RecordingFormatError,
} from './record/recording.ts'
export { type ReplayOptions, replayRecording } from './record/replay-recording.ts'
export type { TimedBytes } from './record/secrets.ts'
export { type RefusedReply, type RulesChoice, type RulesLevel, refused, type Unchecked } from './refusing.ts'
export { type Recording, type RecordingOptions, recordedResponse, recordedResponses } from './replay.ts'
export type { Host } from './rules/hosts.ts'
export type { Refusal } from './rules/refusals.ts'
export type { Reply, Script, ScriptedReply } from './script.ts'
export { WIRE_NAMES, type WireName } from './wires/wire-name.ts'
