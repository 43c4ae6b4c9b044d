/** Helpers for tests of agents, tools and middleware: scripted responses and a model that plays them. */
export { AT_ONCE, type Beat, beats, type Pace } from './testing/beats.ts'
export { type Collected, collect } from './testing/collect.ts'
export {
  call,
  cut,
  type Deltas,
  end,
  type Failure,
  fail,
  type ResponseOptions,
  respond,
  type ScriptEnd,
  ScriptError,
  type ScriptResponse,
  type ScriptStep,
  say,
  think,
  wait,
} from './testing/script.ts'
export {
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedResponse,
  scriptedModel,
} from './testing/scripted-model.ts'
